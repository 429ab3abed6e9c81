/** The commonest reasons for an agent that does not appear. It opens by itself after a minute of silence. */
import { Copy } from '../../parts/copy.tsx'
import { Visible } from '../../text/visible.tsx'

export interface Quiet {
  readonly name: string
  /** Profile that the prompt names. */
  readonly profile: string | undefined
}

interface Props {
  /** Agents of which nothing was heard for 60 seconds. */
  readonly quiet: readonly Quiet[]
}

const commandOf = ({ profile }: Quiet): string =>
  `agent-bridge doctor${profile === undefined ? '' : ` --profile ${profile}`}`

const anybody: Quiet = { name: '', profile: undefined }

export function Help({ quiet }: Props) {
  return (
    <details open={quiet.length > 0}>
      <summary>
        {quiet.length === 0 ? (
          'Nothing happens?'
        ) : (
          <>
            Nothing heard after 60 s from{' '}
            {quiet.map(({ name }, index) => (
              <span key={name}>
                {index > 0 && ' and '}
                <Visible text={name} />
              </span>
            ))}
          </>
        )}
      </summary>
      <ul class="hints">
        <li>Node 22.19 or newer, or the program itself, is missing on the machine of the agent.</li>
        <li>The agent's sandbox blocks the network. Allow it to reach {location.origin}.</li>
        <li>The agent runs on another machine, where {location.origin} is another computer.</li>
      </ul>
      <p>This command finds the cause on the machine of the agent:</p>
      {(quiet.length === 0 ? [anybody] : quiet).map(commandOf).map((command) => (
        <p key={command} class="actions">
          <code>{command}</code> <Copy text={command} label="Copy" isQuiet />
        </p>
      ))}
    </details>
  )
}
