/**
 * Regular upkeep of transfers: expires them, and removes bytes and secrets that a crash or a full disk left
 * behind.
 *
 * `removed_at` and the released quota of a package are never recorded before its folder has become
 * inaccessible.
 *
 * Contract §9 "bytes removed"; §10 "packages at verification or expiry".
 */

import type { Context } from '../context.ts'
import { everyLane } from '../database/lanes.ts'
import { reconcile } from './changes.ts'
import { removePackage } from './package-removal.ts'
import { destroyExpiredSecrets } from './secrets.ts'
import * as store from './store.ts'
import { timesOf } from './views.ts'

const everyMs = 15_000
/** Delay that lets transfers which expire together be handled in one run. */
const minDelayMs = 5
const batchRows = 50
/** Time between two searches for bytes that no open transfer uses. */
const straysEveryMs = 3_600_000

/**
 * Runs the upkeep now, every 15 seconds, and when the next transfer expires, until the returned function is
 * called. Of several nodes, the one that leads ends transfers; each sweeps its own folder.
 */
export function startTransferUpkeep(context: Context): () => void {
  let running = false
  let next: NodeJS.Timeout | undefined
  const run = async () => {
    // A node that the others count as ended may not read. It runs again at the next time, or when it leads.
    if (running || context.stopping.aborted || !context.nodes.isMember()) return
    running = true
    try {
      if (context.nodes.leads()) {
        await endExpired(context)
        // Not awaited, so that a slow store delays no expiry.
        void removeEnded(context)
      }
      const leftMs = await untilNextEnd(context)
      clearTimeout(next)
      if (leftMs < everyMs) next = setTimeout(() => void run(), leftMs + minDelayMs).unref()
      // Not awaited, so that a slow disk delays no expiry.
      void sweep(context)
    } catch (error) {
      if (!context.stopping.aborted) context.log.error({ err: error }, 'the upkeep of transfers failed')
    } finally {
      running = false
    }
  }
  const search = () =>
    removeStrays(context).catch((error: unknown) => {
      if (!context.stopping.aborted)
        context.log.error({ err: error }, 'failed to remove packages of ended transfers')
    })
  void search().then(run)
  context.nodes.onLead(() => void search().then(run))
  const timer = setInterval(() => void run(), everyMs).unref()
  const searches = setInterval(() => void search(), straysEveryMs).unref()
  return () => {
    clearInterval(timer)
    clearInterval(searches)
    clearTimeout(next)
  }
}

async function removeEnded(context: Context): Promise<void> {
  try {
    const ids = await context.read((db) => store.listUnremoved(db, batchRows))
    await Promise.all(ids.map((id) => removePackage(context, id)))
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error }, 'failed to remove packages of ended transfers')
  }
}

async function sweep(context: Context): Promise<void> {
  try {
    await context.packages.sweep()
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error }, 'failed to free the bytes of removed packages')
  }
}

/**
 * Milliseconds until the next transfer expires. Every transfer lasts at least a minute, so a run sees it
 * before it expires.
 */
async function untilNextEnd(context: Context): Promise<number> {
  const end = await context.read(store.nextEnd)
  if (end === undefined) return Number.POSITIVE_INFINITY
  return Math.max(0, Date.parse(end) - context.steady.now().getTime())
}

async function endExpired(context: Context): Promise<void> {
  for (;;) {
    const count = await context.write(everyLane, async (tx) => {
      const { steadyIso } = timesOf(context, tx.steadyNow)
      await destroyExpiredSecrets(tx, steadyIso)
      const expired = await store.listExpired(tx.db, steadyIso, batchRows)
      for (const transfer of expired) await reconcile(context, tx, transfer)
      return expired.length
    })
    if (count < batchRows) return
  }
}

/**
 * Removes packages whose transfer has ended or has no row, because the process crashed between the two steps.
 * If several nodes serve, the leader searches an object store, and each node its own folder.
 */
async function removeStrays(context: Context): Promise<void> {
  if (context.packages.place !== 'folder' && !context.nodes.leads()) return
  for (const id of await context.packages.stored()) {
    const isOpen = await context.read((db) => store.isOpen(db, id))
    if (!isOpen) await removePackage(context, id)
  }
}
