/** Copilot CLI: a hooks file of our own, and an entry in the user's `mcp-config.json`. */
import { join } from 'node:path'
import { version } from '../../../sdk/version.ts'
import { harnesses } from '../harnesses.ts'
import type { JsonObject } from './entries.ts'
import {
  type Choice,
  hookLine,
  hookSeconds,
  jsonFile,
  type Layout,
  type LayoutOf,
  mcpServer,
  ourName,
} from './layout.ts'
import type { OwnFile } from './own-files.ts'
import { type Machine, placeOf } from './places.ts'

export const copilotLayout: LayoutOf = (machine, { mcpProfile }): Layout => {
  const { folder } = placeOf('copilot', machine)
  return {
    files: [jsonFile(join(folder, 'hooks', `${ourName}.json`), hooksOf(machine))],
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
                  value: serverOf(machine, mcpProfile),
                },
              ],
            },
          ],
    byHand: ['start Copilot CLI again: running sessions do not load the hooks'],
  }
}

const serverOf = (machine: Machine, profile: string): JsonObject => ({
  type: 'local',
  ...mcpServer(machine, profile),
  tools: ['*'],
})

function hooksOf(machine: Machine): JsonObject {
  const handler = (event: string) => ({
    type: 'command',
    command: hookLine(machine, 'copilot', event),
    timeoutSec: hookSeconds,
  })
  const events = Object.keys(harnesses.copilot.events)
  return { version: 1, hooks: Object.fromEntries(events.map((event) => [event, [handler(event)]])) }
}

/** Returns a plugin with the same hooks and the same server, for `--plugin-dir`. */
export const copilotPlugin = (machine: Machine, { mcpProfile }: Choice, folder: string): OwnFile[] => [
  jsonFile(join(folder, 'plugin.json'), {
    name: ourName,
    version,
    description: 'Notices of mail from other agents and from the owner.',
    hooks: 'hooks.json',
    ...(mcpProfile !== undefined && { mcpServers: '.mcp.json' }),
  }),
  jsonFile(join(folder, 'hooks.json'), hooksOf(machine)),
  ...(mcpProfile === undefined
    ? []
    : [jsonFile(join(folder, '.mcp.json'), { mcpServers: { [ourName]: serverOf(machine, mcpProfile) } })]),
]
