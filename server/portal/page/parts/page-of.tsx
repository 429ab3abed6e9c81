/** A list in pages on a screen: it follows the project, and a button shows older items. */
import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { AuditRecord } from '../../../../sdk/browser.ts'
import { isAttended } from '../live/attendance.ts'
import { type Pages, type PagesOptions, pagesOf, type ReadPage } from '../live/pages.ts'
import type { LiveProject } from '../live/project.ts'

interface Following extends PagesOptions {
  /** Reads the list again when its project has a new record of one of these kinds. */
  readonly live?: LiveProject | undefined
  /** Beginnings of kinds, such as `task.`. */
  readonly kinds?: readonly string[] | undefined
  /** Id of the only subject whose records count. */
  readonly about?: string | undefined
}

/**
 * Reads a list while its screen is open. If `name` changes, for example with a filter, another list begins. The
 * former one stays on the screen until the first answer.
 */
export function usePages<T extends { readonly id: string }>(
  name: string,
  read: ReadPage<T>,
  { live, kinds = [''], about, isFixed = false }: Following = {},
): Pages<T> {
  const list = useMemo(() => pagesOf(read, { isFixed }), [name, live])
  const shown = useRef(list)
  useEffect(() => {
    void list.refresh()
    const unfollow = live === undefined ? () => {} : follow(live, { kinds, about }, list)
    return () => {
      unfollow()
      list.stop()
    }
  }, [list])
  if (list.items.value !== undefined || list.error.value !== undefined) shown.current = list
  return shown.current
}

/**
 * Refreshes after a record of one of the kinds, and after the first sign of life that follows a failed read. If
 * records were missed, one of them may be of these kinds. While nobody looks, it reads nothing, and records are new
 * when somebody does.
 */
function follow<T>(
  live: LiveProject,
  { kinds, about }: { readonly kinds: readonly string[]; readonly about: string | undefined },
  list: Pages<T>,
): () => void {
  let last: string | undefined
  return effect(() => {
    if (!isAttended.value) return
    const { activity = [] } = live.snapshot.value ?? {}
    const at = activity.findIndex(({ id }) => id === last)
    const isMissed = at === -1 && activity.length > 0
    const isOurs = ({ kind, subject }: AuditRecord) =>
      (about === undefined || subject.id === about) && kinds.some((each) => kind.startsWith(each))
    last = activity.at(-1)?.id ?? last
    if (isMissed || activity.slice(at + 1).some(isOurs) || list.error.peek() !== undefined)
      void list.refresh()
  })
}

interface OlderProps {
  readonly of: Pages<unknown>
  /** Plural of what the list has: `tasks`. */
  readonly noun: string
}

/** Button that reads one more page. */
export function Older({ of, noun }: OlderProps) {
  if (!of.hasOlder.value) return null
  const isReading = of.isReading.value
  return (
    <p>
      <button type="button" class="quiet" disabled={isReading} onClick={() => void of.older()}>
        {isReading ? 'Reading…' : `Show older ${noun}`}
      </button>
    </p>
  )
}
