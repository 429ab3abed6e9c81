/** The processes of a harness that a test kills. */
import { type Chance, pick } from '../../../support/chance.ts'
import type { Cluster } from '../../../support/postgres-cluster.ts'
import type { Harness } from './harness.ts'

/**
 * In this order, so that as many kills have each of them. A name with `standby` is a process of the standby, and the
 * other names of PostgreSQL are of the primary. `primary` and `standby` are all processes of a server at once.
 */
export const victims = [
  ...(['node', 'balancer', 'backend', 'objects', 'node', 'standby', 'checkpointer', 'walwriter'] as const),
  ...(['node', 'primary', 'walsender', 'walreceiver', 'node', 'postmaster', 'background writer'] as const),
  ...(['node', 'autovacuum launcher', 'standby startup', 'node', 'standby checkpointer'] as const),
  ...(['node', 'standby postmaster', 'logical replication launcher', 'standby background writer'] as const),
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
  if (victim === 'standby startup') return killStartup(harness)
  if (victim === 'standby postmaster') return harness.killStandby((standby) => standby.killFirst())
  if (victim === 'standby checkpointer') return killProcess(harness.standby, 'checkpointer', chance)
  if (victim === 'standby background writer') return killProcess(harness.standby, 'background writer', chance)
  if (victim === 'backend') return killProcess(harness.primary, 'client backend', chance)
  if (victim === 'walreceiver') return killProcess(harness.standby, victim, chance)
  if (victim !== 'primary' && victim !== 'postmaster') return killProcess(harness.primary, victim, chance)
  await harness.failOver(victim === 'primary' ? undefined : (primary) => primary.killFirst())
  await meanwhile()
  await harness.followUp()
}

/** A standby does not go on without the process that replays the WAL: all its processes end, and it starts again. */
async function killStartup(harness: Harness): Promise<void> {
  const { standby } = harness
  if (standby === undefined) throw new Error('there is no standby')
  const [row] = await standby.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'",
  )
  if (row === undefined) throw new Error('the standby has no process of the type startup')
  await standby.killFor(row.pid)
  await standby.start()
}

/** A server that recovers for longer is a stall of its own, and its log tells why. */
const longRecoveryMs = 2000

/**
 * Kills one process of a server, which then ends all its other processes, recovers as after a crash and goes on.
 * Resolves once it accepts connections. A backend is one that serves a node.
 */
async function killProcess(cluster: Cluster | undefined, type: string, chance: Chance): Promise<void> {
  if (cluster === undefined) throw new Error('there is no standby')
  const rows = await cluster.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE backend_type = $1 AND pid <> pg_backend_pid()
     AND (datname IS NULL OR application_name LIKE 'agent-bridge%')`,
    [type],
  )
  const pid = pick(chance, rows)?.pid
  if (pid === undefined) throw new Error(`the server has no process of the type ${type}`)
  const isBack = cluster.untilLogged('ready to accept')
  const killedMs = performance.now()
  process.kill(pid, 'SIGKILL')
  await isBack
  const awayMs = Math.round(performance.now() - killedMs)
  if (awayMs >= longRecoveryMs)
    process.stderr.write(`${type}: no connection for ${awayMs} ms:\n${cluster.logEnd}\n`)
}
