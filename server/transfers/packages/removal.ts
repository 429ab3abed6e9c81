/** Taking the bytes of a transfer that is over: the files first, then it is written down. Contract §9 "bytes removed". */
import { setTimeout as pause } from 'node:timers/promises'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { systemActor } from '../../audit/store.ts'
import type { Context } from '../../context.ts'
import { recordTransfer } from '../records.ts'
import { isFinal } from '../rules.ts'
import * as store from '../store.ts'
import { timesOf, toTransfer } from '../views.ts'

/**
 * Resolves when the bytes are out of reach and that is written down, so that the answer which ends a transfer is true.
 * Never refuses: what could not be removed stays as it is shown, and is tried again.
 */
export function removePackage(context: Context, transferId: string): Promise<void> {
  const removals = context.packageRemovals
  const underWay = removals.get(transferId)
  if (underWay !== undefined) return underWay
  const removal = remove(context, transferId).finally(() => removals.delete(transferId))
  removals.set(transferId, removal)
  return removal
}

/** An answer waits at most this long for the disk to free bytes that are out of reach. */
const freeingMs = 250

/** Out of reach; `freed` resolves when the bytes are freed, or that takes long. */
async function takeAway(context: Context, transferId: string): Promise<{ readonly freed: Promise<void> }> {
  const { gone } = await context.packages.remove(transferId)
  const told = gone.catch((error: unknown) => {
    context.log.error({ err: error, transfer: transferId }, 'the bytes of a package were not freed')
  })
  return { freed: Promise.race([told, pause(freeingMs, undefined, { ref: false })]) }
}

async function remove(context: Context, transferId: string): Promise<void> {
  try {
    const { freed } = await takeAway(context, transferId)
    await context.write(async (tx) => {
      const row = await store.findUnremoved(tx.db, transferId)
      if (row === undefined) return
      const removed = await store.changeTransfer(tx, row, { removed_at: tx.nowIso, reserved_bytes: 0 })
      await recordTransfer(tx, removed, { kind: 'transfer.package_removed', actor: systemActor })
    })
    await freed
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error, transfer: transferId }, 'a package was not removed')
  }
}

/** The transfer after the removal of its package, if it has ended. */
export async function withoutPackage(context: Context, transfer: Transfer): Promise<Transfer> {
  if (!isFinal(transfer.state) || transfer.package?.removed_at !== null) return transfer
  await removePackage(context, transfer.id)
  return context.read(async (db) => {
    const row = await store.findInProject(db, transfer.project_id, transfer.id)
    return row === undefined ? transfer : toTransfer(row, null, timesOf(context, context.steady.now()))
  })
}

/**
 * While bytes of a transfer move it may end, and be swept before the last of them come: then those go too.
 *
 * Never refuses: what is over is removed at the next start at the latest.
 */
export async function removeIfOver(context: Context, transferId: string): Promise<void> {
  try {
    if (await context.read((db) => store.isOpen(db, transferId))) return
    await (await takeAway(context, transferId)).freed
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error, transfer: transferId }, 'a package was not removed')
  }
}

/** Every package of a project that is being deleted; nothing is written down, since the rows go too. */
export async function removePackagesOf(context: Context, projectId: string): Promise<void> {
  for (const id of await context.read((db) => store.listPackagesOf(db, projectId)))
    await context.packages.remove(id)
  await context.packages.freed()
}
