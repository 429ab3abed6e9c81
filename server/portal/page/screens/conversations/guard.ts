/** Times at which the loop guard stopped a conversation. */
import { useEffect, useState } from 'preact/hooks'
import { useAttended } from '../../live/attendance.ts'
import { owner } from '../../owner.ts'

/** Reads them again when `newest`, the latest record about this conversation, is another one. */
export function useGuard(
  project: string,
  conversation: string,
  newest: string | undefined,
): readonly string[] {
  const known = useAttended(newest)
  const [times, setTimes] = useState<readonly string[]>([])
  useEffect(() => {
    const kind = 'conversation.guard_tripped'
    // Without the records, the messages still stand in their order.
    owner.audit.list(project, { kind, subjectId: conversation, order: 'newest_first' }).then(
      ({ audit }) => setTimes(audit.map(({ at }) => at).reverse()),
      () => undefined,
    )
  }, [project, conversation, known])
  return times
}
