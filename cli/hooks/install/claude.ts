/**
 * Claude Code: a plugin folder in `~/.claude/skills`, which version 2.1.224 and newer load as it stands. No
 * file of the user's changes.
 */
import { join } from 'node:path'
import { version } from '../../../sdk/version.ts'
import { calledAs } from '../../terminal/as-typed.ts'
import { readingTools, toolPrefix } from '../permission.ts'
import type { JsonObject } from './entries.ts'
import {
  hookSeconds,
  hookWords,
  jsonFile,
  type Layout,
  type LayoutOf,
  mcpServer,
  ourName,
  skill,
  waiterSeconds,
} from './layout.ts'
import { type Machine, placeOf } from './places.ts'

export const claudeLayout: LayoutOf = (machine, { mcpProfile, allowsReading }): Layout => {
  const place = placeOf('claude', machine).folder
  const folder = join(place, 'skills', ourName)
  return {
    folder,
    files: [
      jsonFile(join(folder, '.claude-plugin', 'plugin.json'), {
        name: ourName,
        version,
        description: 'Notices of mail from other agents and from the owner.',
      }),
      jsonFile(join(folder, 'hooks', 'hooks.json'), { hooks: hooksOf(machine, allowsReading) }),
      ...(mcpProfile === undefined
        ? []
        : [
            jsonFile(join(folder, '.mcp.json'), {
              mcpServers: { [ourName]: mcpServer(machine, mcpProfile) },
            }),
          ]),
      { path: join(folder, 'SKILL.md'), text: skill(machine) },
    ],
    shared: [],
    aftermath: [join(place, 'plugins', 'data', `${ourName}-skills-dir`)],
    byHand: ['start Claude Code again: running sessions do not load the hooks'],
  }
}

function hooksOf(machine: Machine, allowsReading: boolean): JsonObject {
  const handler = (event: string, more: JsonObject = {}): JsonObject => {
    const [command, ...args] = hookWords(machine, 'claude', event)
    return { type: 'command', command, args, timeout: hookSeconds, ...more }
  }
  const waiter = handler('wait', { asyncRewake: true, timeout: waiterSeconds })
  const launcher = calledAs(machine.program) ?? 'agent-bridge'
  const programs = [...new Set(['agent-bridge', launcher, machine.program])].filter((word) =>
    /^[A-Za-z0-9._/-]+$/.test(word),
  )
  const permission = {
    PreToolUse: [
      // Without `if`, every shell command would wait for a process of ours.
      { matcher: 'Bash', hooks: programs.map((word) => handler('PreToolUse', { if: `Bash(${word} *)` })) },
      {
        matcher: readingTools.map((tool) => toolPrefix + tool).join('|'),
        hooks: [handler('PreToolUse')],
      },
    ],
  }
  return {
    SessionStart: [{ hooks: [handler('SessionStart'), waiter] }],
    UserPromptSubmit: [{ hooks: [handler('UserPromptSubmit')] }],
    ...(allowsReading && permission),
    PostToolUse: [{ hooks: [handler('PostToolUse')] }],
    Stop: [{ hooks: [handler('Stop'), waiter] }],
    SessionEnd: [{ hooks: [handler('SessionEnd')] }],
  }
}
