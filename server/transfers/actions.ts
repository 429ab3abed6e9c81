import type { Transfer, TransferInput, TransferReceipt } from '../../sdk/contract/agent/transfers.ts'
import type { AuditKindOf } from '../../sdk/contract/audit-kinds.ts'
import { manifestFault } from '../../sdk/contract/helper/manifest.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { agentActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { requireParticipant, requireWritable } from '../conversations/rules.ts'
import { findForAgent as findConversation } from '../conversations/store.ts'
import { packagesLane } from '../database/lanes.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow } from '../database/work-tables.ts'
import { type Answer, agentPrincipal, type Keyed, once } from '../idempotency.ts'
import { type Admitted, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { requireProjectActive } from '../projects/rules.ts'
import { retryAfterMs } from '../retry-after.ts'
import { type Change, reconcile, recordChange } from './changes.ts'
import { notify } from './notices.ts'
import { withoutPackage } from './package-removal.ts'
import { recordTransfer } from './records.ts'
import { causes, decide, type TransferEvent } from './rules.ts'
import { findSecret } from './secrets.ts'
import * as store from './store.ts'
import { timesOf, toTransfer } from './views.ts'

export function offerTransfer(
  context: Context,
  caller: AgentCaller,
  input: TransferInput,
  keyed: Keyed,
): Promise<Answer> {
  // The room of the packages is one sum over all projects.
  const lanes = input.mode === 'package' ? [packagesLane] : []
  const offered = (tx: Tx, agent: Admitted) => {
    requireManifest(input)
    return once(tx, agentPrincipal(agent), keyed, async () => {
      await requirePeer(tx, agent, input)
      await requireRoom(tx, input.conversation_id)
      const reserved_bytes = await reservation(context, tx, agent, input)
      const ends_at = tx.endIn(input.ttl_seconds ?? limits.transferTtlSeconds.default)
      const transfer = await store.insertTransfer(tx, {
        project_id: agent.project_id,
        conversation_id: input.conversation_id,
        sender_agent_id: agent.agent_id,
        recipient_agent_id: input.recipient_agent_id,
        filename: input.filename,
        size: input.size,
        sha256: input.sha256,
        mode: input.mode,
        encryption: input.encryption,
        expires_at: context.steady.wall(ends_at),
        ends_at,
        reserved_bytes,
        parts: JSON.stringify(input.parts),
      })
      await notify(context, tx, transfer, {
        to: 'recipient',
        what: `${agent.agent_name} offers a file`,
        next: 'receive',
        needsRoom: true,
      })
      await recordTransfer(tx, transfer, { kind: 'transfer.offered', actor: agentActor(agent) })
      return toTransfer(transfer, null, timesOf(context, tx.steadyNow))
    })
  }
  return writeAs(context, caller, offered, undefined, lanes)
}

/** Checks the manifest. "The manifest rules hold for both modes." @throws manifest_invalid */
function requireManifest({ filename, size, sha256, parts }: TransferInput): void {
  const problem = manifestFault({
    version: '1',
    transfer_id: 'of-the-service',
    mode: 'upload',
    filename,
    size,
    sha256,
    parts,
  })
  if (problem === undefined) return
  throw new ApiError('manifest_invalid', {
    message: `The manifest is invalid: ${problem}.`,
    details: { fault: problem },
  })
}

/** @throws not_found, project_paused, pairing_disabled, state_conflict, invalid_request */
async function requirePeer(tx: Tx, agent: Admitted, input: TransferInput): Promise<void> {
  const found = await findConversation(tx.db, agent.project_id, agent.agent_id, input.conversation_id)
  const standing = requireParticipant(found)
  if (standing.peer?.id !== input.recipient_agent_id) {
    const problem = standing.peer
      ? 'must be the other participant of the conversation'
      : 'cannot be the owner: files are transferred between agents only'
    throw new ApiError('invalid_request', {
      message: `body/recipient_agent_id ${problem}.`,
      details: { faults: [{ path: 'body/recipient_agent_id', problem }] },
    })
  }
  requireProjectActive(agent.project_state)
  requireWritable(standing)
}

/** Bounds what the end of a pair has to cancel in one transaction. @throws capacity_reached */
async function requireRoom(tx: Tx, conversationId: string): Promise<void> {
  if ((await store.countOpenIn(tx.db, conversationId)) < limits.openTransfers) return
  throw quotaExceeded(
    'open_transfers',
    `This conversation has ${limits.openTransfers} transfers that have not ended. Wait until one is received, or cancel one.`,
  )
}

/**
 * Returns the bytes to reserve. "Quota reserved at the offer", of the quotas of the sender and of the node.
 * @throws invalid_request, capacity_reached
 */
async function reservation(
  context: Context,
  tx: Tx,
  agent: Admitted,
  { mode, size }: TransferInput,
): Promise<number> {
  if (mode === 'direct') return 0
  const { packageBytes, packagesBytes, senderPackagesBytes } = context.config
  if (size > packageBytes) {
    const problem = `a package has at most ${packageBytes} bytes; use direct mode, or split the file`
    throw new ApiError('invalid_request', {
      message: `body/size: ${problem}.`,
      details: { faults: [{ path: 'body/size', problem }], limit_bytes: packageBytes },
    })
  }
  const own = await store.reservedBytesOf(tx.db, agent.agent_id)
  if (own + size > senderPackagesBytes)
    throw quotaExceeded(
      'sender_packages_bytes',
      `Your open packages use ${own} of the ${senderPackagesBytes} bytes that one sender may use on this node. Wait until they are received, or cancel one.`,
    )
  if ((await store.reservedBytes(tx.db)) + size > packagesBytes)
    throw quotaExceeded(
      'packages_bytes',
      `The node stores at most ${packagesBytes} bytes of packages, and open offers have reserved them.`,
    )
  return size
}

const quotaExceeded = (limit: string, message: string): ApiError =>
  new ApiError('capacity_reached', { message, details: { limit }, retryAfterMs: retryAfterMs.otherParty })

interface Mutation {
  readonly id: string
  readonly event: TransferEvent
  readonly what: (at: Moment) => Omit<Change, 'actor'>
}

interface Moment {
  readonly transfer: TransferRow
  readonly agent: Admitted
  readonly side: 'sender' | 'recipient'
  readonly nowIso: string
}

/**
 * Applies an event. "The same effect again: 200 and the same Transfer." If the event ends a package, the
 * answer is sent after its bytes were removed.
 */
async function mutate(context: Context, caller: AgentCaller, mutation: Mutation): Promise<Transfer> {
  const changed = await writeAs(context, caller, async (tx, agent) => {
    const transfer = await ownTransfer(context, tx, agent, mutation.id)
    const side = transfer.sender_agent_id === agent.agent_id ? 'sender' : 'recipient'
    if (causes[mutation.event] === 'recipient' && side === 'sender') throw notPermitted(mutation.event)
    if (mutation.event === 'accept') await requireMovable(tx.db, agent, transfer)
    const next = decide(transfer.state, mutation.event)
    const what = mutation.what({ transfer, agent, side, nowIso: tx.nowIso })
    const change = { ...what.change, ...(next && { state: next }) }
    const isNew = next !== undefined || Object.keys(change).length > 0
    const row = isNew
      ? await recordChange(context, tx, transfer, { ...what, change, actor: agentActor(agent) })
      : transfer
    return toTransfer(row, await secretExpiry(tx, row), timesOf(context, tx.steadyNow))
  })
  return withoutPackage(context, changed)
}

/** Returns the current transfer of the agent. @throws not_found */
export async function ownTransfer(
  context: Context,
  tx: Tx,
  agent: Admitted,
  id: string,
): Promise<TransferRow> {
  const found = await store.findForAgent(tx.db, agent.project_id, agent.agent_id, id)
  if (found === undefined) throw new ApiError('not_found')
  return reconcile(context, tx, found)
}

/** Requires that bytes may start to move. @throws project_paused, pairing_disabled */
export async function requireMovable(db: Db, agent: Admitted, transfer: TransferRow): Promise<void> {
  requireProjectActive(agent.project_state)
  await requirePair(db, transfer)
}

/** @throws pairing_disabled */
export async function requirePair(db: Db, transfer: TransferRow): Promise<void> {
  if (!(await store.isPairOpen(db, transfer))) throw new ApiError('pairing_disabled')
}

const secretExpiry = async (tx: Tx, transfer: TransferRow): Promise<string | null> =>
  transfer.mode === 'direct' ? ((await findSecret(tx.db, transfer.id))?.expires_at ?? null) : null

const notPermitted = (event: TransferEvent): ApiError =>
  new ApiError('not_permitted', {
    message: `Only the recipient of a transfer can ${event === 'receipt' ? 'send its receipt' : event}.`,
  })

const other = { sender: 'recipient', recipient: 'sender' } as const

export const acceptTransfer = (context: Context, caller: AgentCaller, id: string): Promise<Transfer> =>
  mutate(context, caller, {
    id,
    event: 'accept',
    what: () => ({ kind: 'transfer.accepted', change: {}, notices: [] }),
  })

/** Builds one of the three actions that end a transfer without its file. */
const ending =
  (event: 'decline' | 'cancel' | 'fail', kind: AuditKindOf<'transfer'>, done: string) =>
  (context: Context, caller: AgentCaller, id: string, { reason }: { reason?: string }): Promise<Transfer> =>
    mutate(context, caller, {
      id,
      event,
      what: ({ agent, side }) => ({
        kind,
        change: {},
        notices: [
          { to: other[side], what: `${done} by ${agent.agent_name}`, ...(reason && { quote: reason }) },
        ],
      }),
    })

export const declineTransfer = ending('decline', 'transfer.declined', 'declined')
export const cancelTransfer = ending('cancel', 'transfer.cancelled', 'cancelled')
export const failTransfer = ending('fail', 'transfer.failed', 'failed')

export const reportCleanup = (context: Context, caller: AgentCaller, id: string): Promise<Transfer> =>
  mutate(context, caller, {
    id,
    event: 'cleanup',
    what: ({ transfer, side, nowIso }) => ({
      kind: 'transfer.cleaned_up',
      change: transfer[`cleanup_${side}_at`] === null ? { [`cleanup_${side}_at`]: nowIso } : {},
      notices: [],
    }),
  })

/**
 * Confirms the receipt. A receipt that does not match changes nothing and is recorded in a separate
 * transaction.
 */
export async function confirmReceipt(
  context: Context,
  caller: AgentCaller,
  id: string,
  receipt: TransferReceipt,
): Promise<Transfer> {
  const confirmed = mutate(context, caller, {
    id,
    event: 'receipt',
    what: ({ transfer, agent, nowIso }) => {
      requireMatch(transfer, receipt)
      const isNew = transfer.state === 'accepted'
      return {
        kind: 'transfer.verified',
        change: isNew ? { receipt_at: nowIso } : {},
        notices: [{ to: 'sender', what: `received and verified by ${agent.agent_name}` }],
      }
    },
  })
  return confirmed.catch(async (error: unknown) => {
    if (error instanceof ApiError && error.code === 'receipt_mismatch')
      await recordMismatch(context, caller, id)
    throw error
  })
}

/** @throws receipt_mismatch; state_conflict if the package is not uploaded yet */
function requireMatch(transfer: TransferRow, receipt: TransferReceipt): void {
  if (transfer.mode === 'package' && transfer.stored_at === null)
    throw new ApiError('state_conflict', {
      message: 'The package has not been uploaded yet, so it cannot have been received.',
      details: { state: transfer.state },
    })
  if (receipt.size === transfer.size && receipt.sha256 === transfer.sha256) return
  throw new ApiError('receipt_mismatch', {
    details: { size: transfer.size, sha256: transfer.sha256 },
  })
}

async function recordMismatch(context: Context, caller: AgentCaller, id: string): Promise<void> {
  const actor = { kind: 'agent', id: caller.agent_id, name: caller.agent_name } as const
  await context.write(caller.project_id, (tx) =>
    recordAudit(tx, {
      kind: 'transfer.receipt_refused',
      actor: { ...actor, request_id: caller.request_id },
      project_id: caller.project_id,
      subject: { type: 'transfer', id },
    }),
  )
}
