/**
 * Uploads of packages and their status: "sender uploads (offered or accepted)".
 *
 * - Permission to upload is checked in a transaction before the first byte is read, and again before the
 *   effect is written. If it was lost in between, the upload has no effect.
 * - A running upload stops when permission is lost. It keeps the session of its agent alive.
 *
 * Spec §4.5; contract §9.
 */
import type { Readable } from 'node:stream'
import type { PackagePart, PackageStatus, PackageVerified } from '../../../sdk/contract/agent/packages.ts'
import type { TransferPart } from '../../../sdk/contract/agent/transfers.ts'
import { manifestText } from '../../../sdk/contract/helper/manifest.ts'
import { PartError } from '../../../sdk/parts/part-error.ts'
import { ApiError } from '../../api-error.ts'
import { agentActor } from '../../audit/store.ts'
import type { Context } from '../../context.ts'
import type { Tx } from '../../database/tx.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { type Admitted, writeAs } from '../../identity/admission.ts'
import type { AgentCaller } from '../../identity/callers.ts'
import { digestOf, manifestOf, partsOf, type StoredPart } from '../../package-store/packages.ts'
import { ownTransfer, requireMovable, requirePair } from '../actions.ts'
import { recordChange } from '../changes.ts'
import { requireNotRemoved, requirePackage, requireState } from '../rules.ts'
import { findForAgent } from '../store.ts'
import { shownEnd } from '../views.ts'
import { removingIfEnded } from './errors.ts'
import { watchPermission } from './permission.ts'

/** Returns the part from the manifest if the caller may know it. Runs before the proof is verified. */
export async function findPart(
  context: Context,
  caller: { readonly agent_id: string; readonly project_id: string },
  id: string,
  index: string,
): Promise<TransferPart | undefined> {
  const row = await context.read((db) => findForAgent(db, caller.project_id, caller.agent_id, id))
  // Compared as text, because the path has not been validated yet: `01` is not a part.
  return row && partsOf(row).find((part) => String(part.index) === index)
}

/**
 * Returns the transfer if the agent may upload now. @throws not_found, not_permitted, state_conflict,
 * offer_expired, project_paused, pairing_disabled
 */
async function requireUploadable(
  context: Context,
  tx: Tx,
  agent: Admitted,
  id: string,
): Promise<TransferRow> {
  const transfer = await ownTransfer(context, tx, agent, id)
  requirePackage(transfer)
  if (transfer.sender_agent_id !== agent.agent_id)
    throw new ApiError('not_permitted', { message: 'Only the sender can upload the package.' })
  await requireMovable(tx.db, agent, transfer)
  requireState(transfer.state, ['offered', 'accepted'], 'an upload')
  return transfer
}

/**
 * Runs an upload operation. If the end of the transfer stopped it, the refusal names the state of the
 * transfer.
 */
async function uploading<T>(
  context: Context,
  caller: AgentCaller,
  id: string,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await removingIfEnded(context, id, act)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'state_conflict')
      await writeAs(context, caller, (tx, agent) => requireUploadable(context, tx, agent, id))
    throw error
  }
}

/** A request body that has not been read yet. */
export interface UnreadPart {
  readonly stream: () => Readable
  readonly length: number | undefined
  /** The hash that the sender signed. Undefined if the sender states none. */
  readonly stated: string | undefined
  /** Closes the connection soon after the answer, even if the client is still sending. */
  readonly cut: () => void
}

/**
 * Stores one part. The body is read only while the caller may upload. @throws part_mismatch and the errors of
 * {@link requireUploadable}
 */
export async function uploadPart(
  context: Context,
  caller: AgentCaller,
  { id, index }: { readonly id: string; readonly index: number },
  body: UnreadPart,
): Promise<PackagePart> {
  const permission = watchPermission(context, caller, requireMovable)
  try {
    const transfer = await writeAs(context, caller, (tx, agent) => {
      tx.requireFreeSpace()
      return requireUploadable(context, tx, agent, id)
    })
    requireOffered(transfer, index, body)
    return await uploading(context, caller, id, async () => {
      await permission.watch(transfer)
      const { received, record } = await receive(context, transfer, index, {
        body,
        signal: permission.signal,
      })
      if (received.duplicate) return received
      return writeAs(context, caller, async (tx, agent) => {
        const now = await requireUploadable(context, tx, agent, id)
        const stored_parts = await record(tx)
        if (stored_parts === undefined) return { ...received, duplicate: true }
        await recordChange(context, tx, now, {
          kind: 'transfer.part_stored',
          actor: agentActor(agent),
          change: { stored_parts },
          notices: [],
        })
        return received
      })
    })
  } finally {
    permission.end()
  }
}

/** Requires the length and the signed hash of the offered part. @throws not_found, part_mismatch */
function requireOffered(transfer: TransferRow, index: number, { stated, length }: UnreadPart): void {
  const part = partsOf(transfer)[index]
  if (part === undefined) throw new ApiError('not_found')
  // "For PUT of a package part line 6 is the manifest's hash of that part." Contract §3.
  if (stated !== undefined && stated !== part.sha256) {
    throw new ApiError('part_mismatch', {
      message: `The hash of part ${index} in the offer differs from X-Content-SHA256.`,
      details: { sha256: part.sha256 },
    })
  }
  if (length !== part.size) {
    throw new ApiError('part_mismatch', {
      message: `Part ${index} has ${part.size} bytes; Content-Length must be equal to that.`,
      details: { size: part.size },
    })
  }
}

async function receive(
  context: Context,
  transfer: TransferRow,
  index: number,
  { body, signal }: { readonly body: UnreadPart; readonly signal: AbortSignal },
): Promise<StoredPart> {
  try {
    return await context.packages.receive(transfer, index, body.stream(), signal)
  } catch (error) {
    const isEnded = error instanceof PartError && error.code === 'expired'
    if (isEnded || signal.aborted) body.cut()
    throw error
  }
}

/** Verifies the whole file and then records that the package is complete. */
export async function finalizePackage(
  context: Context,
  caller: AgentCaller,
  id: string,
): Promise<PackageVerified> {
  const permission = watchPermission(context, caller, requireMovable)
  try {
    const transfer = await writeAs(context, caller, (tx, agent) => requireUploadable(context, tx, agent, id))
    const verified = await uploading(context, caller, id, async () => {
      await permission.watch(transfer)
      return context.packages.finalize(transfer, permission.signal)
    })
    await writeAs(context, caller, async (tx, agent) => {
      const now = await requireUploadable(context, tx, agent, id)
      if (now.stored_at !== null) return
      await recordChange(context, tx, now, {
        kind: 'transfer.uploaded',
        actor: agentActor(agent),
        change: { stored_at: tx.nowIso, stored_parts: partsOf(now).length },
        notices: [],
      })
    })
    return verified
  } finally {
    permission.end()
  }
}

export async function packageStatus(
  context: Context,
  caller: AgentCaller,
  id: string,
): Promise<PackageStatus> {
  const { transfer, mode } = await writeAs(context, caller, async (tx, agent) => {
    const found = await ownTransfer(context, tx, agent, id)
    requirePackage(found)
    await requirePair(tx.db, found)
    requireNotRemoved(found)
    requireState(found.state, ['offered', 'accepted'], 'moving the package')
    const isSender = found.sender_agent_id === agent.agent_id
    return { transfer: found, mode: isSender ? ('upload' as const) : ('download' as const) }
  })
  const text = manifestText(manifestOf(transfer, mode))
  return {
    transfer_id: transfer.id,
    mode,
    manifest_digest: digestOf(text),
    manifest_size: Buffer.byteLength(text),
    size: transfer.size,
    sha256: transfer.sha256,
    expires_at: shownEnd(transfer, context.steady),
    verified: transfer.stored_at !== null,
    committed_parts: [...(await removingIfEnded(context, id, () => context.packages.committed(transfer)))],
  }
}
