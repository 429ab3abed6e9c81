/** Programs that the rows need, by name. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export const needed = ['claude', 'codex', 'tmux'] as const
export type Needed = (typeof needed)[number]

export interface Found {
  readonly path: string
  readonly version: string
}

const { PATH = '', BRIDGE_HARNESS_BIN = '' } = process.env

/** PATH of the agents: first the folder of the harnesses, then the usual one. */
export const agentPath = [BRIDGE_HARNESS_BIN, PATH].filter((each) => each !== '').join(delimiter)

export function findHarness(name: Needed): Found | undefined {
  for (const folder of agentPath.split(delimiter)) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      const text = execFileSync(path, [name === 'tmux' ? '-V' : '--version'], {
        encoding: 'utf8',
        timeout: 30_000,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      return { path, version: text.trim() }
    } catch {
      // Not here, or it does not start.
    }
  }
  return undefined
}

/** Whether all of these are there. */
export const has = (...names: readonly Needed[]): boolean =>
  names.every((name) => findHarness(name) !== undefined)
