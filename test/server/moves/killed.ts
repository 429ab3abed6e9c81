/** A move in a process of its own, which is killed at a step, and whether a side of it serves afterwards. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { startOn } from './scene.ts'

export interface Move {
  readonly data: string
  readonly url: string
  readonly to?: string
}

interface Report {
  readonly tables: readonly { readonly sha256: string; readonly table: string; readonly rows: number }[]
}

const child = fileURLToPath(new URL('./child.ts', import.meta.url))

/** Runs a move in its own process, and kills it at the step. Returns the report if it was not killed. */
export async function run(move: Move, step?: string): Promise<Report | undefined> {
  const running = spawn(process.execPath, [child, JSON.stringify(move), ...(step ? [step] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code, signal]] = await Promise.all([text(running.stdout), once(running, 'close')])
  expect({ code, signal }).toEqual(step ? { code: null, signal: 'SIGKILL' } : { code: 0, signal: null })
  return step ? undefined : (JSON.parse(output) as Report)
}

const refused = /was moved to|was interrupted|holds no installation/

/** Returns whether a node starts. One that must not start says why. */
export async function starts(data: string, database: string): Promise<boolean> {
  try {
    const server = await startOn(data, { database })
    await server.stop()
    return true
  } catch (error) {
    expect((error as Error).message).toMatch(refused)
    return false
  }
}
