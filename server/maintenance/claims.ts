/**
 * Writing down that claims are over, a batch a transaction, so that no request waits for it.
 *
 * What is shown does not wait for this: an expired claim is never shown as held. It is what tells both sides. The server
 * looks every second; the run of all maintenance does it too.
 *
 * Contract §8.
 */
import type { Context } from '../context.ts'
import { reconcile } from '../tasks/changes.ts'
import { listExpired } from '../tasks/store.ts'
import type { Job, RunBatch } from './job.ts'

const everyMs = 1000
const atOnce = 50

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

/** Answers how many claims were over. */
export async function reconcileClaims(context: Context): Promise<number> {
  let reconciled = 0
  let found: number
  do {
    found = await context.read(
      async (db) => (await listExpired(db, context.steady.now().toISOString(), atOnce)).length,
    )
    if (found > 0) reconciled += await reconcileBatch(context)
  } while (found === atOnce && !context.stopping.aborted)
  return reconciled
}

const reconcileBatch = (context: Context): Promise<number> =>
  context.write(async (tx) => {
    const expired = await listExpired(tx.db, tx.steadyIso, atOnce)
    for (const task of expired) await reconcile(context, tx, task)
    return expired.length
  })

/** Runs until the returned function is called. */
export function startClaimReconciling(context: Context): () => void {
  let busy = false
  const look = async () => {
    // A commit takes the reading of the clocks along.
    if (context.steady.isSet()) await context.write(async () => {})
    await reconcileClaims(context)
  }
  const timer = setInterval(() => {
    // To both sides it is told by a message, for which there is no room then. What is shown does not wait for it.
    if (busy || context.storage.state === 'full') return
    busy = true
    look()
      .catch((error: unknown) => {
        if (!context.stopping.aborted) context.log.error({ err: error }, 'expired claims were not reconciled')
      })
      .finally(() => {
        busy = false
      })
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
