/**
 * Codex: entries in `hooks.json` and `config.toml`, which are the user's files. It loads no folder of ours.
 *
 * A hook runs only after the user has trusted it, by `/hooks` or with `--trust`; see codex-trust.ts.
 */
import { join } from 'node:path'
import { readingTools } from '../permission.ts'
import type { Entry, JsonObject } from './entries.ts'
import {
  hookLine,
  hookSeconds,
  type Layout,
  type LayoutOf,
  mcpServer,
  ourName,
  waiterSeconds,
} from './layout.ts'
import { type Machine, placeOf } from './places.ts'

export const codexLayout: LayoutOf = (machine, choice): Layout => {
  const { folder } = placeOf('codex', machine)
  const server = serverEntries(machine, choice)
  return {
    files: [],
    shared: [
      { path: join(folder, 'hooks.json'), format: 'json', entries: hookEntries(machine) },
      ...(server.length === 0
        ? []
        : [{ path: join(folder, 'config.toml'), format: 'toml' as const, entries: server }]),
    ],
    byHand: [
      'open /hooks in Codex and trust the hooks of agent-bridge: until then Codex skips them without a word',
    ],
  }
}

function hookEntries(machine: Machine): Entry[] {
  const entry = (event: string, run: string, more: JsonObject): Entry => ({
    at: ['hooks', event],
    appended: true,
    value: { hooks: [{ type: 'command', command: hookLine(machine, 'codex', run), ...more }] },
  })
  const plain = ['SessionStart', 'UserPromptSubmit', 'PostToolUse', 'Stop', 'SessionEnd']
  return [
    ...plain.map((event) => entry(event, event, { timeout: secondsOf(event) })),
    // It lives as long as the session, and Codex ends it with the session.
    entry('SessionStart', 'wait', { timeout: waiterSeconds, async: true }),
  ]
}

/** At SessionEnd Codex allows 3 s, and warns in every session about more. */
const secondsOf = (event: string): number => (event === 'SessionEnd' ? 3 : hookSeconds)

function serverEntries(
  machine: Machine,
  { mcpProfile, allowsReading }: { mcpProfile: string | undefined; allowsReading: boolean },
): Entry[] {
  if (mcpProfile === undefined) return []
  const at = ['mcp_servers', ourName]
  const tools = allowsReading ? readingTools : []
  return [
    { at, value: mcpServer(machine, mcpProfile) },
    ...tools.map((tool) => ({ at: [...at, 'tools', tool], value: { approval_mode: 'approve' } })),
  ]
}
