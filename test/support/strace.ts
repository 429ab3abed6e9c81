/**
 * Traces a running server's system calls, and injects faults at chosen ones. Available only if `strace` is
 * installed and may attach.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export const canTrace: boolean = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0

export interface Tracer {
  /** Detaches once everything is written; the process continues if it still runs. */
  detach(): Promise<void>
}

/** Resolves once strace is attached to every thread of the process. */
export async function attach(pid: number, options: readonly string[]): Promise<Tracer> {
  const tracer = spawn('strace', ['-f', ...options, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(tracer, 'exit')
  const lines = createInterface(tracer.stderr)
  const said: string[] = []
  const attached = new Promise<true>((resolve) => {
    lines.on('line', (line) => {
      said.push(line)
      if (line.includes('attached')) resolve(true)
    })
  })
  if ((await Promise.race([attached, ended])) !== true) throw new Error(`strace: ${said.join('; ')}`)
  return {
    async detach() {
      tracer.kill('SIGINT')
      await ended
    },
  }
}

/** Counts each call in the output of `strace -f -o`, in the thread that made it most often. */
export function mostOfOneThread(text: string): Map<string, number> {
  const ofThreads = new Map<string, number>()
  const most = new Map<string, number>()
  for (const [, thread = '', call = ''] of text.matchAll(/^(\d+) +(\w+)\(/gm)) {
    const count = (ofThreads.get(`${thread} ${call}`) ?? 0) + 1
    ofThreads.set(`${thread} ${call}`, count)
    most.set(call, Math.max(count, most.get(call) ?? 0))
  }
  return most
}
