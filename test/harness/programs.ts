/** Programs that the rows need, by name. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export const needed = ['claude', 'codex', 'copilot', 'gemini', 'opencode', 'tmux'] as const
export type Needed = (typeof needed)[number]

export interface Found {
  readonly path: string
  readonly version: string
}

const { PATH = '', BRIDGE_HARNESS_BIN = '' } = process.env

/** PATH of the agents: first the folder of the harnesses, then the usual one. */
export const agentPath = [BRIDGE_HARNESS_BIN, PATH].filter((each) => each !== '').join(delimiter)

export function findHarness(name: Needed): Found | undefined {
  const path = pathOf(name)
  if (path === undefined) return undefined
  try {
    const text = execFileSync(path, [name === 'tmux' ? '-V' : '--version'], {
      encoding: 'utf8',
      timeout: 30_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return { path, version: text.trim().split('\n')[0] ?? '' }
  } catch {
    return undefined
  }
}

/** The first one in PATH. */
export function pathOf(name: Needed): string | undefined {
  return agentPath
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Whether all of these are there. */
export const has = (...names: readonly Needed[]): boolean => names.every((name) => pathOf(name) !== undefined)
