/** Taking the bytes of a transfer that is over: the files first, then it is written down. Contract §9 "bytes removed". */
import { systemActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { recordTransfer } from './records.ts'
import * as store from './store.ts'

/** Never refuses: what could not be removed is tried again. */
export async function removePackage(context: Context, transferId: string): Promise<void> {
  try {
    await context.packages.remove(transferId)
    await context.write(async (tx) => {
      const row = await store.findUnremoved(tx.db, transferId)
      if (row === undefined) return
      const removed = await store.changeTransfer(tx, row, { removed_at: tx.nowIso, reserved_bytes: 0 })
      await recordTransfer(tx, removed, { kind: 'transfer.package_removed', actor: systemActor })
    })
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error, transfer: transferId }, 'a package was not removed')
  }
}

/**
 * While bytes of a transfer move it may end, and be swept before the last of them come: then those go too.
 *
 * Never refuses: what is over is removed at the next start at the latest.
 */
export async function removeIfOver(context: Context, transferId: string): Promise<void> {
  try {
    if (!(await context.read((db) => store.isOpen(db, transferId)))) await context.packages.remove(transferId)
  } catch (error) {
    if (!context.stopping.aborted)
      context.log.error({ err: error, transfer: transferId }, 'a package was not removed')
  }
}

/** Every package of a project that is being deleted; nothing is written down, since the rows go too. */
export async function removePackagesOf(context: Context, projectId: string): Promise<void> {
  for (const id of await context.read((db) => store.listPackagesOf(db, projectId)))
    await context.packages.remove(id)
}
