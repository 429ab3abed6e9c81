/**
 * What time does to transfers: expiry, and the bytes and secrets that a crash or a full disk left behind.
 *
 * `removed_at` and the reservation of a package are never ahead of the folder, which nobody reaches from then on.
 *
 * Contract §9 "bytes removed"; §10 "packages at verification or expiry".
 */
import type { Context } from '../context.ts'
import { reconcile } from './changes.ts'
import { removePackage } from './packages/removal.ts'
import { destroyExpiredSecrets } from './secrets.ts'
import * as store from './store.ts'
import { timesOf } from './views.ts'

const everyMs = 15_000
/** Time for what ends together. */
const soonestMs = 5
const atOnce = 50

/**
 * Expiry, and what is left to remove: now, every quarter of a minute, and when the next transfer ends; until the returned
 * function is called.
 */
export function startTransferUpkeep(context: Context): () => void {
  let running = false
  let next: NodeJS.Timeout | undefined
  const look = async () => {
    if (running || context.stopping.aborted) return
    running = true
    try {
      await endExpired(context)
      for (const id of await context.read((db) => store.listUnremoved(db, atOnce)))
        await removePackage(context, id)
      const leftMs = await untilNextEnd(context)
      clearTimeout(next)
      if (leftMs < everyMs) next = setTimeout(() => void look(), leftMs + soonestMs).unref()
      // Not waited for: a slow disk delays no expiry.
      void sweep(context)
    } catch (error) {
      if (!context.stopping.aborted) context.log.error({ err: error }, 'the upkeep of transfers did not run')
    } finally {
      running = false
    }
  }
  void removeStrays(context)
    .catch((error: unknown) => {
      if (!context.stopping.aborted) context.log.error({ err: error }, 'the sweep of packages did not run')
    })
    .then(look)
  const timer = setInterval(() => void look(), everyMs)
  timer.unref()
  return () => {
    clearInterval(timer)
    clearTimeout(next)
  }
}

async function sweep(context: Context): Promise<void> {
  try {
    await context.packages.sweep()
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error }, 'bytes of packages that are removed were not freed')
  }
}

/** None lasts less than a minute: each is seen here before it ends. */
async function untilNextEnd(context: Context): Promise<number> {
  const end = await context.read(store.nextEnd)
  if (end === undefined) return Number.POSITIVE_INFINITY
  return Math.max(0, Date.parse(end) - context.steady.now().getTime())
}

async function endExpired(context: Context): Promise<void> {
  for (;;) {
    const count = await context.write(async (tx) => {
      const { steadyIso } = timesOf(context, tx.steadyNow)
      await destroyExpiredSecrets(tx, steadyIso)
      const over = await store.listExpired(tx.db, steadyIso, atOnce)
      for (const transfer of over) await reconcile(context, tx, transfer)
      return over.length
    })
    if (count < atOnce) return
  }
}

/** Folders of transfers that are over, or that no row knows: a crash came between the two. */
async function removeStrays(context: Context): Promise<void> {
  for (const id of await context.packages.stored()) {
    const isOpen = await context.read((db) => store.isOpen(db, id))
    if (!isOpen) await removePackage(context, id)
  }
}
