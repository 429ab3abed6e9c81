/**
 * Moving the bytes of a package: up from the sender, down to the recipient.
 *
 * - Whether they may move is asked in a transaction before the first byte, and again before the effect is written: what
 *   ended in between keeps nothing.
 * - "Sender uploads (offered or accepted), recipient downloads (accepted, after finalize)."
 *
 * Spec §4.5; contract §9.
 */
import type { Readable } from 'node:stream'
import type { PackagePart, PackageStatus, PackageVerified } from '../../sdk/contract/agent/packages.ts'
import type { TransferPart } from '../../sdk/contract/agent/transfers.ts'
import { manifestText } from '../../sdk/contract/helper/manifest.ts'
import { agentActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { TransferRow } from '../database/tables.ts'
import type { Tx } from '../database/transaction.ts'
import { Fault } from '../fault.ts'
import { type Admitted, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { ownTransfer, requireMovable, requirePair } from './actions.ts'
import { happen } from './changes.ts'
import { filling, refusing } from './package-faults.ts'
import { digestOf, manifestOf, type PackageFile } from './packages.ts'
import { requireState } from './rules.ts'
import { findForAgent, isOpen } from './store.ts'
import { partsOf, shownEnd } from './views.ts'

/** The part as the manifest has it, for whoever may know; read before the proof is. */
export async function findPart(
  context: Context,
  caller: { readonly agent_id: string; readonly project_id: string },
  id: string,
  index: string,
): Promise<TransferPart | undefined> {
  const row = await context.read((db) => findForAgent(db, caller.project_id, caller.agent_id, id))
  // Asked before the path was judged: `01` is no part.
  return row && partsOf(row).find((part) => String(part.index) === index)
}

/** @throws not_found, not_permitted, state_conflict, offer_expired, project_paused, pairing_disabled */
async function uploadable(context: Context, tx: Tx, agent: Admitted, id: string): Promise<TransferRow> {
  const transfer = await ownTransfer(context, tx, agent, id)
  requirePackage(transfer)
  if (transfer.sender_agent_id !== agent.agent_id)
    throw new Fault('not_permitted', { message: 'Only the sender uploads the package.' })
  await requireMovable(tx, agent, transfer)
  requireState(transfer.state, ['offered', 'accepted'], 'an upload')
  return transfer
}

/** What was stopped because the transfer ended is refused by what it is now. */
async function uploading<T>(
  context: Context,
  caller: AgentCaller,
  id: string,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await filling(context, id, act)
  } catch (error) {
    if (error instanceof Fault && error.code === 'state_conflict')
      await writeAs(context, caller, (tx, agent) => uploadable(context, tx, agent, id))
    throw error
  }
}

function requirePackage({ mode, state }: TransferRow): void {
  if (mode === 'package') return
  throw new Fault('state_conflict', {
    message: 'This transfer is direct: its bytes do not go through the service.',
    details: { state },
  })
}

/** A body that nobody has read yet. */
export interface UnreadPart {
  readonly stream: () => Readable
  readonly length: number | undefined
  /** The hash that its sender signed, where it says so. */
  readonly stated: string | undefined
}

/** The body is not read before it may be. @throws part_mismatch and what {@link uploadable} does */
export async function uploadPart(
  context: Context,
  caller: AgentCaller,
  { id, index }: { readonly id: string; readonly index: number },
  body: UnreadPart,
): Promise<PackagePart> {
  const transfer = await writeAs(context, caller, (tx, agent) => {
    tx.requireRoom()
    return uploadable(context, tx, agent, id)
  })
  const part = partsOf(transfer)[index]
  if (part === undefined) throw new Fault('not_found')
  // "For PUT of a package part line 6 is the manifest's hash of that part." Contract §3.
  if (body.stated !== undefined && body.stated !== part.sha256) {
    throw new Fault('part_mismatch', {
      message: `Part ${index} has another hash in the offer than X-Content-SHA256 says.`,
      details: { sha256: part.sha256 },
    })
  }
  if (body.length !== part.size) {
    throw new Fault('part_mismatch', {
      message: `Part ${index} has ${part.size} bytes; Content-Length must say so.`,
      details: { size: part.size },
    })
  }
  const { received, stored_parts } = await uploading(context, caller, id, async () => ({
    received: await context.packages.receive(transfer, index, body.stream()),
    stored_parts: (await context.packages.committed(transfer)).length,
  }))
  if (received.duplicate) return received
  await writeAs(context, caller, async (tx, agent) => {
    const now = await uploadable(context, tx, agent, id)
    await happen(context, tx, now, {
      kind: 'transfer.part_stored',
      actor: agentActor(agent),
      change: { stored_parts },
      notices: [],
    })
  })
  return received
}

/** Once verified, the recipient is told that the package is there. */
export async function finalizePackage(
  context: Context,
  caller: AgentCaller,
  id: string,
): Promise<PackageVerified> {
  const transfer = await writeAs(context, caller, (tx, agent) => uploadable(context, tx, agent, id))
  const verified = await uploading(context, caller, id, () => context.packages.finalize(transfer))
  await writeAs(context, caller, async (tx, agent) => {
    const now = await uploadable(context, tx, agent, id)
    if (now.stored_at !== null) return
    await happen(context, tx, now, {
      kind: 'transfer.uploaded',
      actor: agentActor(agent),
      change: { stored_at: tx.nowIso, stored_parts: partsOf(now).length },
      notices: [{ to: 'recipient', what: 'the package is uploaded', next: 'receive' }],
    })
  })
  return verified
}

export async function packageStatus(
  context: Context,
  caller: AgentCaller,
  id: string,
): Promise<PackageStatus> {
  const { transfer, mode } = await writeAs(context, caller, async (tx, agent) => {
    const found = await ownTransfer(context, tx, agent, id)
    requirePackage(found)
    await requirePair(tx, found)
    requireThere(found)
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
    expires_at: shownEnd(transfer, context.leases),
    verified: transfer.stored_at !== null,
    committed_parts: [...(await filling(context, id, () => context.packages.committed(transfer)))],
  }
}

export interface Download {
  readonly file: PackageFile
  readonly transfer: TransferRow
}

/** An uploaded package for the recipient that accepted it; close the file. */
export async function openDownload(context: Context, caller: AgentCaller, id: string): Promise<Download> {
  const admit = () => writeAs(context, caller, (tx, agent) => downloadable(context, tx, agent, id))
  const transfer = await admit()
  const file = await refusing(() => context.packages.open(transfer))
  try {
    // From here on an end stops the download; one that came just before is refused by what the transfer is now.
    if (!(await context.read((db) => isOpen(db, id)))) await admit()
    return { transfer, file }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** @throws not_found, not_permitted, state_conflict, offer_expired, package_removed, pairing_disabled */
async function downloadable(context: Context, tx: Tx, agent: Admitted, id: string): Promise<TransferRow> {
  const transfer = await ownTransfer(context, tx, agent, id)
  requirePackage(transfer)
  if (transfer.recipient_agent_id !== agent.agent_id)
    throw new Fault('not_permitted', { message: 'Only the recipient downloads the package.' })
  // A pause stops what begins; the bytes are here, and fetching them finishes.
  await requirePair(tx, transfer)
  requireThere(transfer)
  requireState(transfer.state, ['accepted'], 'a download')
  if (transfer.stored_at === null)
    throw new Fault('state_conflict', {
      message: 'The package is not uploaded yet; the sender is at it, or has to begin.',
      details: { state: transfer.state },
    })
  return transfer
}

/** @throws package_removed */
function requireThere({ state }: TransferRow): void {
  if (state === 'verified')
    throw new Fault('package_removed', { message: 'The recipient has the file, so its bytes were removed.' })
}
