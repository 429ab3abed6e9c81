/** Copilot CLI: a hooks file of our own, and an entry in the user's `mcp-config.json`. */
import { join } from 'node:path'
import { harnesses } from '../harnesses.ts'
import { hookLine, hookSeconds, jsonFile, type Layout, type LayoutOf, mcpServer, ourName } from './layout.ts'
import { placeOf } from './places.ts'

export const copilotLayout: LayoutOf = (machine, { mcpProfile }): Layout => {
  const { folder } = placeOf('copilot', machine)
  const handler = (event: string) => ({
    type: 'command',
    command: hookLine(machine, 'copilot', event),
    timeoutSec: hookSeconds,
  })
  const events = Object.keys(harnesses.copilot.events)
  return {
    files: [
      jsonFile(join(folder, 'hooks', `${ourName}.json`), {
        version: 1,
        hooks: Object.fromEntries(events.map((event) => [event, [handler(event)]])),
      }),
    ],
    shared:
      mcpProfile === undefined
        ? []
        : [
            {
              path: join(folder, 'mcp-config.json'),
              format: 'json',
              entries: [
                {
                  at: ['mcpServers', ourName],
                  value: { type: 'local', ...mcpServer(machine, mcpProfile), tools: ['*'] },
                },
              ],
            },
          ],
    byHand: ['start Copilot CLI again: running sessions do not load the hooks'],
  }
}
