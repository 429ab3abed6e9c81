/** The processes of a harness that a test kills. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Chance, pick } from '../../../support/chance.ts'
import type { Harness } from './harness.ts'

/** In this order, so that nine kills have each of them. */
export const victims = [
  ...(['node', 'balancer', 'backend', 'objects', 'node'] as const),
  ...(['standby', 'checkpointer', 'primary', 'node'] as const),
]
export type Victim = (typeof victims)[number]

/**
 * Kills a process other than a node, and starts what must come back. `meanwhile` runs before the new primary has
 * a standby.
 */
export async function killOne(
  harness: Harness,
  victim: Exclude<Victim, 'node'>,
  chance: Chance,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  if (victim === 'balancer') return harness.killBalancer()
  if (victim === 'objects') return harness.killObjectStore()
  if (victim === 'standby') return harness.killStandby()
  if (victim === 'backend') return killProcess(harness, 'client backend', chance)
  if (victim === 'checkpointer') return killProcess(harness, 'checkpointer', chance)
  await harness.failOver()
  await meanwhile()
  await harness.followUp()
}

/** A server that recovers for longer is a stall of its own, and its log tells why. */
const longRecoveryMs = 2000

/**
 * Kills one process of the primary, which then ends all its other processes, recovers as after a crash and goes
 * on. Resolves once it accepts connections. A backend is one that serves a node.
 */
async function killProcess({ primary }: Harness, type: string, chance: Chance): Promise<void> {
  const rows = await primary.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE backend_type = $1 AND pid <> pg_backend_pid()
     AND (datname IS NULL OR application_name LIKE 'agent-bridge%')`,
    [type],
  )
  const pid = pick(chance, rows)?.pid
  if (pid === undefined) throw new Error(`the primary has no process of the type ${type}`)
  const startOf = async () => {
    const [row] = await primary.query<{ at: string }>(
      'SELECT min(backend_start)::text AS at FROM pg_stat_activity',
    )
    return row?.at
  }
  const before = await startOf()
  const killedMs = performance.now()
  process.kill(pid, 'SIGKILL')
  while ((await startOf().catch(() => before)) === before) await sleep(20)
  const awayMs = Math.round(performance.now() - killedMs)
  if (awayMs >= longRecoveryMs)
    process.stderr.write(`the primary accepted no connection for ${awayMs} ms:\n${primary.logEnd}\n`)
}
