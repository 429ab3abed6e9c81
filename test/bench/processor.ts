/**
 * Processor time, user and system, of all threads of a process.
 *
 * A rate depends on the machine and its other work. The ratio of the processor time of one request to that of
 * its floor is the same on every machine.
 */
import type { Measured } from './measured.ts'

export { childrenMs, processMs } from '../support/processor-time.ts'

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
