/** Checkbox of a pair. Unpairing asks first, because it cancels transfers; pairing has an Undo. */
import { useState } from 'preact/hooks'
import { owner } from '../../owner.ts'
import { ActDialog } from '../../parts/dialog.tsx'
import { act, note } from '../../parts/toast.tsx'
import { plainName } from '../../text/plain-name.ts'
import { Visible } from '../../text/visible.tsx'

export interface Named {
  readonly id: string
  readonly name: string
}

interface Props {
  readonly project: string
  readonly one: Named
  readonly other: Named
  readonly isPaired: boolean
  readonly refresh: () => Promise<void>
  /** Text beside the checkbox. Without it the name of the pair is for screen readers only. */
  readonly text?: string
}

export function PairSwitch({ project, one, other, isPaired, refresh, text }: Props) {
  const [isAsking, ask] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const names = (
    <>
      <Visible text={one.name} /> and <Visible text={other.name} />
    </>
  )
  const set = async (enabled: boolean) => {
    await owner.pairings.set(project, [one.id, other.id], enabled)
    await refresh()
  }
  const pair = async () => {
    setBusy(true)
    await act(async () => {
      await set(true)
      note(<>{names} may talk.</>, () => set(false))
    })
    setBusy(false)
  }
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          aria-label={`${plainName(one.name)} and ${plainName(other.name)}`}
          checked={isPaired}
          disabled={isBusy}
          onClick={(event) => {
            // The node decides what the box shows.
            event.preventDefault()
            if (isPaired) ask(true)
            else void pair()
          }}
        />
        {text !== undefined && <Visible text={text} />}
      </label>
      {isAsking && (
        <ActDialog
          title={<>Unpair {names}?</>}
          verb="Unpair them"
          busy="Unpairing…"
          act={() => set(false)}
          close={() => ask(false)}
        >
          <p>Open transfers between them are cancelled. Messages that were not offered yet wait.</p>
        </ActDialog>
      )}
    </>
  )
}
