/** Commands for the upkeep of the node, which run on its host. */
import { Copy } from '../../parts/copy.tsx'

const commands: readonly (readonly [command: string, does: string])[] = [
  [
    'bridge server backup /var/backups/bridge',
    'Writes the whole database to one new file, checked, while the node runs. Choose a folder of yours.',
  ],
  ['bridge server doctor', 'Checks settings, data, certificate, disk and clock, and changes nothing.'],
  [
    'bridge server telemetry-token',
    'Prints the token with which other hosts report their load. The token of before ends.',
  ],
]

export function Commands() {
  return (
    <section aria-labelledby="commands">
      <h2 id="commands">On the host of the node</h2>
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
