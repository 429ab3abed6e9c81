/**
 * Reconciles expired claims: records that they have expired and notifies both sides. It works in batches of
 * one transaction each, so that requests are not delayed.
 *
 * Reads do not depend on it: an expired claim is never shown as held. The server reconciles every
 * second, and each maintenance run does so too.
 *
 * Contract §8.
 */

import type { Context } from '../context.ts'
import { everyLane, noLane } from '../database/lanes.ts'
import type { Job, RunBatch } from '../maintenance/job.ts'
import { Outage } from '../outage.ts'
import { reconcile } from './changes.ts'
import { listExpired } from './store.ts'

const everyMs = 1000
const batchRows = 50

export const claimReconciling: Job = {
  name: 'claims reconciled',
  begin:
    ({ wakeups }): RunBatch =>
    async (tx, room) => {
      const expired = await listExpired(tx.db, tx.steadyIso, room.rows)
      let done = 0
      for (const task of expired) {
        if (done > 0 && room.isSpent()) break
        await reconcile({ wakeups }, tx, task)
        done += 1
      }
      return { done, more: done < expired.length || done === room.rows }
    },
}

/** Returns the number of claims that were reconciled. */
export async function reconcileClaims(context: Context): Promise<number> {
  let reconciled = 0
  let found: number
  do {
    found = await context.read(
      async (db) => (await listExpired(db, context.steady.now().toISOString(), batchRows)).length,
    )
    if (found > 0) reconciled += await reconcileBatch(context)
  } while (found === batchRows && !context.stopping.aborted)
  return reconciled
}

const reconcileBatch = (context: Context): Promise<number> =>
  context.write(everyLane, async (tx) => {
    const expired = await listExpired(tx.db, tx.steadyIso, batchRows)
    for (const task of expired) await reconcile(context, tx, task)
    return expired.length
  })

/** Runs until the returned function is called. Of several nodes, the one that leads reconciles. */
export function startClaimReconciling(context: Context): () => void {
  let busy = false
  const outage = new Outage()
  const check = async () => {
    // An empty commit also stores the current reading of the clocks.
    if (context.steady.isSet()) await context.write(noLane, async () => {})
    await reconcileClaims(context)
  }
  const timer = setInterval(() => {
    // Reconciling sends messages, for which a full disk has no space. Reads do not depend on it.
    if (busy || context.storage.state === 'full' || !context.nodes.leads()) return
    busy = true
    check()
      .then(() => outage.end())
      .catch((error: unknown) => {
        if (!context.stopping.aborted && outage.isNew(error))
          context.log.error({ err: error }, 'failed to reconcile expired claims')
      })
      .finally(() => {
        busy = false
      })
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
