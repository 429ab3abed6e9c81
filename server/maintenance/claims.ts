/**
 * Writing down that claims are over, a batch a transaction, so that no request waits for it.
 *
 * What is shown does not wait for this: an expired claim is never shown as held. It is what tells both sides, and what
 * keeps the offset of the lease clock.
 *
 * Contract §8.
 */
import type { Context } from '../context.ts'
import { reconcile } from '../tasks/changes.ts'
import { keepOffset } from '../tasks/lease-clock.ts'
import { listExpired } from '../tasks/store.ts'

const everyMs = 1000
const batch = 50

/** Answers how many claims were over. */
export async function reconcileClaims(context: Context): Promise<number> {
  let reconciled = 0
  let found: number
  do {
    found = await context.read(async (db) => (await listExpired(db, leaseNow(context), batch)).length)
    if (found > 0) reconciled += await reconcileBatch(context)
  } while (found === batch && !context.stopping.aborted)
  return reconciled
}

const reconcileBatch = (context: Context): Promise<number> =>
  context.write(async (tx) => {
    const expired = await listExpired(tx.db, context.leases.at(tx.now).toISOString(), batch)
    for (const task of expired) await reconcile(context, tx, task)
    return expired.length
  })

const leaseNow = ({ leases, clock }: Context): string => leases.at(clock()).toISOString()

/** Runs until the returned function is called. */
export function startClaimReconciling(context: Context): () => void {
  let busy = false
  let kept = context.leases.offsetMs
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    const look = async () => {
      await reconcileClaims(context)
      const { offsetMs } = context.leases
      if (offsetMs !== kept) await context.write((tx) => keepOffset(tx, context.leases))
      kept = offsetMs
    }
    look()
      .catch((error: unknown) => context.log.error({ err: error }, 'expired claims were not reconciled'))
      .finally(() => {
        busy = false
      })
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
