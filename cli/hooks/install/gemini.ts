/** Gemini CLI: an extension folder of our own. No file of the user's changes. */
import { join } from 'node:path'
import { version } from '../../../sdk/version.ts'
import { harnesses } from '../harnesses.ts'
import {
  hookLine,
  hookSeconds,
  jsonFile,
  type Layout,
  type LayoutOf,
  mcpServer,
  ourName,
  skill,
} from './layout.ts'
import { placeOf } from './places.ts'

export const geminiLayout: LayoutOf = (machine, { mcpProfile }): Layout => {
  const folder = join(placeOf('gemini', machine).folder, 'extensions', ourName)
  const handler = (event: string) => ({
    name: ourName,
    type: 'command',
    command: hookLine(machine, 'gemini', event),
    // Gemini CLI counts in milliseconds.
    timeout: hookSeconds * 1000,
  })
  const events = Object.keys(harnesses.gemini.events)
  return {
    folder,
    files: [
      jsonFile(join(folder, 'gemini-extension.json'), {
        name: ourName,
        version,
        ...(mcpProfile !== undefined && { mcpServers: { [ourName]: mcpServer(machine, mcpProfile) } }),
      }),
      jsonFile(join(folder, 'hooks', 'hooks.json'), {
        hooks: Object.fromEntries(events.map((event) => [event, [{ hooks: [handler(event)] }]])),
      }),
      { path: join(folder, 'skills', ourName, 'SKILL.md'), text: skill(machine) },
    ],
    shared: [],
    byHand: ['start Gemini CLI again: running sessions do not load the hooks'],
  }
}
