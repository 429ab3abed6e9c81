/**
 * Downloads of packages: "recipient downloads (accepted, after finalize)".
 *
 * A running download stops when permission is lost. It keeps the session of its agent alive. Contract §3, §5,
 * §9.
 */
import type { Writable } from 'node:stream'
import type { Range } from '../../../sdk/parts/blocks.ts'
import { PartError } from '../../../sdk/parts/part-error.ts'
import { ApiError } from '../../api-error.ts'
import type { Context } from '../../context.ts'
import type { Tx } from '../../database/tx.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { type Admitted, writeAs } from '../../identity/admission.ts'
import type { AgentCaller } from '../../identity/callers.ts'
import { ownTransfer, requirePair } from '../actions.ts'
import { requireNotRemoved, requirePackage, requireState } from '../rules.ts'
import { withApiErrors } from './errors.ts'
import { watchPermission } from './permission.ts'

/** A stretch of the file, and its hash. */
export type DownloadRange = Range & { readonly sha256: string }

export interface Download {
  readonly range: DownloadRange
  /** @throws PartError as {@link PackageFile.send}; ApiError if permission is lost meanwhile */
  send(to: Writable): Promise<void>
  close(): Promise<void>
}

/**
 * Opens an uploaded package for the recipient that accepted it. The caller must close it. @throws not_found if
 * the package has no such range
 */
export async function openDownload(
  context: Context,
  caller: AgentCaller,
  id: string,
  rangeOf: (transfer: TransferRow) => DownloadRange | undefined,
): Promise<Download> {
  const permission = watchPermission(context, caller, (db, _, transfer) => requirePair(db, transfer))
  try {
    const admit = () => writeAs(context, caller, (tx, agent) => requireDownloadable(context, tx, agent, id))
    const transfer = await admit()
    const range = rangeOf(transfer)
    if (range === undefined) throw new ApiError('not_found')
    const file = await withApiErrors(() => context.packages.open(transfer, range))
    try {
      // From here on, the end of the transfer stops the download. If it ended just before, `admit` refuses
      // with the current state.
      await permission.watch(transfer).catch(async (error: unknown) => {
        if (error instanceof PartError) await admit()
        throw error
      })
    } catch (error) {
      await file.close()
      throw error
    }
    return {
      range,
      async send(to) {
        await file.send(to, permission.signal)
        context.presence.seen(caller.agent_id, context.steady.now())
      },
      async close() {
        permission.end()
        await file.close()
      },
    }
  } catch (error) {
    permission.end()
    throw error
  }
}

/**
 * Returns the transfer if the agent may download now. @throws not_found, not_permitted, state_conflict,
 * offer_expired, package_removed, pairing_disabled
 */
async function requireDownloadable(
  context: Context,
  tx: Tx,
  agent: Admitted,
  id: string,
): Promise<TransferRow> {
  const transfer = await ownTransfer(context, tx, agent, id)
  requirePackage(transfer)
  if (transfer.recipient_agent_id !== agent.agent_id)
    throw new ApiError('not_permitted', { message: 'Only the recipient can download the package.' })
  // No check for a paused project: a pause stops only what starts, and a download finishes a stored package.
  await requirePair(tx.db, transfer)
  requireNotRemoved(transfer)
  requireState(transfer.state, ['accepted'], 'a download')
  if (transfer.stored_at === null)
    throw new ApiError('state_conflict', {
      message: 'The package has not been completely uploaded yet. Wait for the sender.',
      details: { state: transfer.state },
    })
  return transfer
}
