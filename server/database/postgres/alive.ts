/** Whether the process of another node may be alive. */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A node whose last beat is older counts as ended. */
export const deadAfterMs = 10_000

/** A node as its row describes it. */
export interface NodeProcess {
  readonly id: string
  readonly machine: string
  readonly pid: number
  /** Time since its last beat. */
  readonly silent_ms: number
}

/** Ids of the nodes of this process. */
export const ownNodes = new Set<string>()

/** A process of this machine is looked up, so that a node which was killed is not waited for. */
export function mayBeAlive(node: NodeProcess): boolean {
  if (node.silent_ms > deadAfterMs) return false
  if (node.machine !== machine()) return true
  return node.pid === process.pid ? ownNodes.has(node.id) : isProcess(node.pid)
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns whether the process has ended and only its parent has not noticed. Known on Linux only. */
function isZombie(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/**
 * Name of this machine, and of its present start. Containers may share both, but each has process ids of its
 * own.
 */
export function machine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    // Not Linux: a restart of the machine then looks like a node that may be alive for ten seconds.
    return hostname()
  }
}
