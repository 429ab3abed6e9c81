/**
 * Processor time, user and system, of all threads of a process.
 *
 * A rate depends on the machine and its other work. The ratio of the processor time of one request to that of
 * its floor is the same on every machine.
 */
import { readFileSync } from 'node:fs'
import type { Measured } from './measured.ts'

/** The kernel's clock tick: Linux counts processor time in hundredths of a second. */
const tickMs = 10

/** Fields of `/proc/PID/stat`, counted from the state, which follows the program's name in parentheses. */
function ticksOf(pid: number | 'self', first: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return Number(fields[first]) + Number(fields[first + 1])
}

/** Milliseconds of processor time of a running process. */
export const processMs = (pid: number): number => ticksOf(pid, 11) * tickMs

/** Milliseconds of processor time of the ended children of this process. */
export const childrenMs = (): number => ticksOf('self', 13) * tickMs

/** Microseconds of processor time per request, MB or start; one value per round. */
export interface Costs {
  readonly product: number[]
  readonly floor: number[]
}

export const noCosts = (): Costs => ({ product: [], floor: [] })

/** Returns the result of `act`, and the milliseconds by which `read` grew in the meantime. */
export async function costing<T>(
  read: () => number | Promise<number>,
  act: () => T | Promise<T>,
): Promise<{ readonly result: T; readonly cpuMs: number }> {
  const before = await read()
  const result = await act()
  return { result, cpuMs: (await read()) - before }
}

/** For {@link costing}: reads the processor time of a process through its probe. */
export const usedBy = (server: Measured) => async (): Promise<number> => (await server.usage()).cpuMs
