/** A crowd of listeners in a separate process, so that its clients do not slow the measuring process. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { exportPrivateKey } from '../../sdk/signing/keys.ts'
import type { Seeded } from './population.ts'
import type { Transport } from './streams.ts'

export interface CrowdMember {
  readonly agentId: string
  readonly credentialId: string
  readonly sessionId: string
  readonly publicKey: string
  /** PEM. */
  readonly privateKey: string
}

export interface CrowdOrder {
  readonly server: { readonly url: string; readonly serverId: string }
  readonly projectId: string
  readonly transport: Transport
  readonly members: readonly CrowdMember[]
}

export type CrowdReport =
  | { readonly opened: number }
  | { readonly openedAgain: number }
  | { readonly arrived: number; readonly atMs: number }

export interface Crowd {
  /** The time at which each member got its message, in milliseconds of the machine's clock. */
  readonly arrivals: ReadonlyMap<number, number>
  /** Number of connections that were opened in place of a closed one. */
  openedAgain(): number
  close(): Promise<void>
}

const program = fileURLToPath(new URL('./crowd-process.ts', import.meta.url))

/** Resolves when every member is listening. */
export async function openCrowd(
  where: Omit<CrowdOrder, 'members'>,
  agents: readonly Seeded[],
): Promise<Crowd> {
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const arrivals = new Map<number, number>()
  let openedAgain = 0
  const opened = Promise.withResolvers<void>()
  child.on('message', (report: CrowdReport) => {
    if ('opened' in report) opened.resolve()
    else if ('openedAgain' in report) openedAgain += report.openedAgain
    else arrivals.set(report.arrived, report.atMs)
  })
  child.once('exit', (code) => opened.reject(new Error(`the crowd's process ended with ${code}`)))
  child.send({ ...where, members: agents.map(asMember) } satisfies CrowdOrder)
  await opened.promise
  return { arrivals, openedAgain: () => openedAgain, close: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
}

const asMember = ({ keys, ...ids }: Seeded): CrowdMember => ({
  ...ids,
  publicKey: keys.publicKey,
  privateKey: exportPrivateKey(keys.privateKey),
})
