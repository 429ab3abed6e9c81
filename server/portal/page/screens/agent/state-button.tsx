/** Button that disables an agent after a sentence, or enables it at once. */
import type { Agent } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { ActButton } from '../../parts/dialog.tsx'
import { act, note } from '../../parts/toast.tsx'
import { Visible } from '../../text/visible.tsx'

interface Props {
  readonly project: string
  readonly agent: Agent
  readonly refresh: () => Promise<void>
}

export function StateButton({ project, agent, refresh }: Props) {
  const set = async (state: Agent['state']) => {
    await owner.agents.setState(project, agent.id, state)
    await refresh()
  }
  if (agent.state === 'disabled')
    return (
      <button
        type="button"
        onClick={() =>
          void act(async () => {
            await set('enabled')
            note(
              <>
                <Visible text={agent.name} /> is enabled.
              </>,
              () => set('disabled'),
            )
          })
        }
      >
        Enable
      </button>
    )
  return (
    <ActButton
      label="Disable…"
      title={
        <>
          Disable <Visible text={agent.name} />?
        </>
      }
      verb={
        <>
          Disable <Visible text={agent.name} />
        </>
      }
      busy="Disabling…"
      act={() => set('disabled')}
    >
      <p>
        Its session ends at once, and the node refuses its requests. Its history stays, and you can enable it
        again.
      </p>
    </ActButton>
  )
}
