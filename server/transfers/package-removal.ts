/**
 * Removes the bytes of ended transfers: first the files, then the database records it. Contract §9 "bytes
 * removed".
 *
 * If several nodes serve, the one at which a transfer ended waits until all have stopped its uploads and
 * downloads. The leader removes what a node left that was killed meanwhile.
 */

import { setTimeout as pause } from 'node:timers/promises'
import type { Transfer } from '../../sdk/contract/agent/transfers.ts'
import { systemActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { TransferRow } from '../database/work-tables.ts'
import { waitAtMost } from '../package-store/bounded-wait.ts'
import { hasOthers, stoppedEverywhere } from '../package-store/other-nodes.ts'
import { recordTransfer } from './records.ts'
import { isFinal } from './rules.ts'
import * as store from './store.ts'
import { timesOf, toTransfer } from './views.ts'

/**
 * Resolves when the bytes are inaccessible and the removal is recorded. Never rejects: a failed removal
 * leaves the record unchanged and is tried again.
 */
export function removePackage(context: Context, transferId: string): Promise<void> {
  const removals = context.packageRemovals
  const running = removals.get(transferId)
  if (running !== undefined) return running
  const removal = remove(context, transferId).finally(() => removals.delete(transferId))
  removals.set(transferId, removal)
  return removal
}

/** Maximum time that an answer waits for the disk to free the bytes. */
const freeingMs = 250

/**
 * Renames the folder, so that it is inaccessible. `freed` resolves when the bytes are freed, or after
 * `freeingMs`.
 */
async function detach(context: Context, transferId: string): Promise<{ readonly freed: Promise<void> }> {
  const { gone } = await context.packages.remove(transferId)
  const logged = gone.catch((error: unknown) => {
    context.log.error({ err: error, transfer: transferId }, 'failed to free the bytes of a package')
  })
  return { freed: Promise.race([logged, pause(freeingMs, undefined, { ref: false })]) }
}

async function remove(context: Context, transferId: string): Promise<void> {
  try {
    await stoppedEverywhere(context.nodes)
    const { freed } = await detach(context, transferId)
    const ended = await context.read((db) => store.findUnremoved(db, transferId))
    if (ended !== undefined) await record(context, ended)
    await freed
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error, transfer: transferId }, 'failed to remove a package')
  }
}

async function record(context: Context, { id, project_id }: TransferRow): Promise<void> {
  await context.write(project_id, async (tx) => {
    const row = await store.findUnremoved(tx.db, id)
    if (row === undefined) return
    const removed = await store.changeTransfer(tx, row, { removed_at: tx.nowIso, reserved_bytes: 0 })
    await store.forgetParts(tx, id)
    await recordTransfer(tx, removed, { kind: 'transfer.package_removed', actor: systemActor })
  })
}

/**
 * Starts the removal of packages and waits for it as long as an answer may. With several nodes the removal
 * takes longer than that, so this returns before it.
 */
export async function removePackagesSoon(context: Context, transferIds: readonly string[]): Promise<void> {
  if (transferIds.length === 0) return
  const removals = Promise.all(transferIds.map((id) => removePackage(context, id)))
  if (!(await hasOthers(context.nodes))) await waitAtMost(removals)
}

/** Returns the transfer after its package was removed, if it has ended and the removal does not take long. */
export async function withoutPackage(context: Context, transfer: Transfer): Promise<Transfer> {
  if (!isFinal(transfer.state) || transfer.package?.removed_at !== null) return transfer
  await removePackagesSoon(context, [transfer.id])
  return context.read(async (db) => {
    const row = await store.findInProject(db, transfer.project_id, transfer.id)
    return row === undefined ? transfer : toTransfer(row, null, timesOf(context, context.steady.now()))
  })
}

/**
 * Removes the folder of a transfer that ended while its bytes were moving, because the regular removal may
 * have run before the last bytes were written.
 *
 * Never rejects: the next start removes what remains.
 */
export async function removeIfEnded(context: Context, transferId: string): Promise<void> {
  try {
    if (await context.read((db) => store.isOpen(db, transferId))) return
    if (await hasOthers(context.nodes)) return void removePackage(context, transferId)
    await (await detach(context, transferId)).freed
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error, transfer: transferId }, 'failed to remove a package')
  }
}
