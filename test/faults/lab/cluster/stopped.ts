/** A node that is suspended while it has a transaction open. */
import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from '../client-log.ts'
import type { Harness } from './harness.ts'

const tries = 200
/** A running node ends a transaction in less. */
const lookAgainMs = 150

export interface Stopped {
  readonly atMs: number
  /** Resolves with the milliseconds until the database has ended the transaction. */
  freed(): Promise<number>
  resume(): void
}

/**
 * Suspends a node while it has an open transaction that holds lanes.
 *
 * @throws if no try suspends it inside a transaction
 */
export async function stopInsideGroup(harness: Harness, index: number): Promise<Stopped> {
  const pid = harness.nodes[index]?.pid ?? 0
  for (let count = 0; count < tries; count += 1) {
    process.kill(pid, 'SIGSTOP')
    const atMs = machineMs()
    const open = await openTransactions(harness)
    if (open.length > 0) {
      await sleep(lookAgainMs)
      const still = (await openTransactions(harness)).filter((each) => open.includes(each))
      if (still.length > 0) {
        const freed = async () => {
          while ((await openTransactions(harness)).some((each) => still.includes(each)))
            await sleep(lookAgainMs)
          return machineMs() - atMs
        }
        return { atMs, freed, resume: () => process.kill(pid, 'SIGCONT') }
      }
    }
    process.kill(pid, 'SIGCONT')
    await sleep(7)
  }
  throw new Error('the node was never suspended inside a transaction')
}

/** Transactions in which the database waits for a node, and which changed something. */
async function openTransactions({ primary }: Harness): Promise<string[]> {
  const rows = await primary.query<{ name: string }>(
    `SELECT pid || ' ' || xact_start AS name FROM pg_stat_activity
     WHERE state LIKE 'idle in transaction%' AND backend_xid IS NOT NULL`,
  )
  return rows.map(({ name }) => name)
}
