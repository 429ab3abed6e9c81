/** Commands for the upkeep of the node, which run on its host. */
import { Copy } from '../../parts/copy.tsx'

const commands: readonly (readonly [command: string, does: string])[] = [
  [
    'agent-bridge server backup /var/backups/bridge --data …',
    'Writes the whole database to one new file, checked, while the node runs. Choose a folder of yours.',
  ],
  [
    'agent-bridge server doctor --data …',
    'Checks settings, data, certificate, disk and clock, and changes nothing.',
  ],
  [
    'agent-bridge server telemetry-token --data …',
    'Prints the token with which other hosts report their load. The token of before ends.',
  ],
]

export function Commands() {
  return (
    <section aria-labelledby="commands">
      <h2 id="commands">On the host of the node</h2>
      <p class="meta">Each command needs the data folder that the node was started with in place of “…”.</p>
      <ul class="commands">
        {commands.map(([command, does]) => (
          <li key={command}>
            <span class="id">
              <code>{command}</code>
              <Copy text={command} label="Copy" isQuiet />
            </span>
            <p class="meta">{does}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}
