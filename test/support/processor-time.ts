/** Processor time of processes, user and system, of all their threads. Linux only. */
import { readFileSync } from 'node:fs'

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
