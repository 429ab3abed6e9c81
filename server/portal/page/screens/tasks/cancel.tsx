/** Cancels a task. An open one is cancelled at once; the holder of a claimed one is asked to stop. */
import { useState } from 'preact/hooks'
import { limits, type Task } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { ActButton } from '../../parts/dialog.tsx'
import { TextArea } from '../../parts/text-area.tsx'
import { Visible } from '../../text/visible.tsx'
import { faultsOf } from '../../words/refusals.ts'

interface Props {
  readonly project: string
  readonly task: Task
  readonly holder: string
  readonly done: () => Promise<unknown>
}

export function CancelTask({ project, task: { id, state }, holder, done }: Props) {
  const [reason, setReason] = useState('')
  return (
    <ActButton
      label="Cancel the task…"
      title="Cancel the task?"
      verb="Cancel the task"
      busy="Cancelling…"
      dismiss="Back"
      act={async (key) => {
        await owner.tasks.cancel(project, id, { reason: reason || undefined }, { idempotencyKey: key })
        await done()
      }}
    >
      {(error) => (
        <>
          <p>
            {state === 'open' ? (
              'Nobody has claimed it, so it ends at once.'
            ) : (
              <>
                <Visible text={holder} /> is asked to stop. The task ends when <Visible text={holder} />{' '}
                confirms, or when its claim ends.
              </>
            )}
          </p>
          <TextArea
            label="Reason"
            hint="May stay empty"
            maxBytes={limits.taskReasonBytes}
            value={reason}
            change={setReason}
            fault={faultsOf(error).reason}
          />
        </>
      )}
    </ActButton>
  )
}
