/** `waiter.json`: the waiter of a profile, while it runs. */
import { readObject } from './files.ts'
import { type HarnessProcess, isAlive } from './harness-process.ts'
import type { Places } from './places.ts'

export interface WaiterRecord {
  readonly harness: string
  readonly session: string
  readonly process: HarnessProcess
  readonly since: string
}

/** Returns the record of the running waiter, or undefined. A waiter that was killed leaves its record behind. */
export function runningWaiter(places: Places): WaiterRecord | undefined {
  const record = readObject(places.waiter) as Partial<WaiterRecord> | undefined
  const isRunning = typeof record?.process?.pid === 'number' && isAlive(record.process)
  return isRunning ? (record as WaiterRecord) : undefined
}
