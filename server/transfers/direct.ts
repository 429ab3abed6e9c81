/**
 * The structured secret operation: endpoint and token of a helper, from the side that runs it to the other.
 *
 * - The sender runs it in `download` mode, the recipient in `upload` mode.
 * - A deposit replaces the last one until the transfer ends, so the helper's thirty minutes bound an endpoint only.
 * - Reading is recorded each time; the audit never holds what was read.
 *
 * Spec §5 "structured secret operation"; contract §9 "Direct mode".
 */
import type { Transfer, TransferSecret } from '../../sdk/contract/agent/transfers.ts'
import { endpointFault } from '../../sdk/contract/helper/endpoint.ts'
import { transferLimits } from '../../sdk/contract/helper/limits.ts'
import { ApiError } from '../api-error.ts'
import { agentActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { TransferRow } from '../database/work-tables.ts'
import { type Admitted, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { ownTransfer, requireMovable, requirePair } from './actions.ts'
import { recordTransfer } from './records.ts'
import { isFinal, requireState } from './rules.ts'
import { depositSecret, destroyIfOver, findSecret, openSecret } from './secrets.ts'
import { type Times, timesOf, toTransfer } from './views.ts'

export function depositEndpoint(
  context: Context,
  caller: AgentCaller,
  id: string,
  secret: TransferSecret,
): Promise<Transfer> {
  return writeAs(context, caller, async (tx, agent) => {
    const transfer = await ownTransfer(context, tx, agent, id)
    requireDirect(transfer)
    requireRunner(transfer, agent, secret)
    await requireMovable(tx.db, agent, transfer)
    const isSender = transfer.sender_agent_id === agent.agent_id
    requireNotOver(transfer)
    requireState(transfer.state, isSender ? ['offered', 'accepted'] : ['accepted'], 'a deposit')
    requireEndpoint(secret.endpoint)
    const times = timesOf(context, tx.steadyNow)
    const ends_at = endOf(secret.expires_at, tx.now, times)
    await depositSecret(context, tx, transfer, { deposited_by: agent.agent_id, ends_at, secret })
    await recordTransfer(tx, transfer, { kind: 'transfer.endpoint_deposited', actor: agentActor(agent) })
    tx.afterCommit(() => context.wakeups.notify(otherSide(transfer, agent)))
    return toTransfer(transfer, ends_at, times)
  })
}

export function readEndpoint(context: Context, caller: AgentCaller, id: string): Promise<TransferSecret> {
  return writeAs(context, caller, async (tx, agent) => {
    const transfer = await ownTransfer(context, tx, agent, id)
    requireDirect(transfer)
    await requirePair(tx.db, transfer)
    requireNotOver(transfer)
    requireState(transfer.state, ['accepted'], 'reading the endpoint')
    const row = await findSecret(tx.db, transfer.id)
    if (row === undefined)
      throw new ApiError('not_found', { message: 'No endpoint is deposited; wait for the other side.' })
    if (row.deposited_by === agent.agent_id)
      throw new ApiError('not_permitted', { message: 'Only the other side reads the endpoint.' })
    const { steadyIso, wall } = timesOf(context, tx.steadyNow)
    if (row.expires_at <= steadyIso) throw expired()
    await recordTransfer(tx, transfer, { kind: 'transfer.endpoint_read', actor: agentActor(agent) })
    return { ...openSecret(context, row), expires_at: wall(row.expires_at) }
  }).catch(async (error: unknown) => {
    // What is over is destroyed at once; the refusal undid its own transaction. A fresh one may have come meanwhile.
    if (error instanceof ApiError && error.code === 'offer_expired')
      await context.write((tx) => destroyIfOver(tx, id, timesOf(context, tx.steadyNow).steadyIso))
    throw error
  })
}

const otherSide = (transfer: TransferRow, agent: Admitted): string =>
  transfer.sender_agent_id === agent.agent_id ? transfer.recipient_agent_id : transfer.sender_agent_id

const expired = (): ApiError =>
  new ApiError('offer_expired', {
    message: 'The endpoint is over; the other side can deposit a fresh one for the same file.',
  })

/** "Destroyed at … any final state (then 410 `offer_expired`)." @throws offer_expired */
function requireNotOver({ state }: TransferRow): void {
  if (!isFinal(state)) return
  throw new ApiError('offer_expired', {
    message: `The transfer is ${state}; it has no endpoint, and takes none.`,
    details: { state },
  })
}

function requireDirect({ mode, state }: TransferRow): void {
  if (mode === 'direct') return
  throw new ApiError('state_conflict', {
    message: 'This transfer is a package: its bytes go through the service, and it has no endpoint.',
    details: { state },
  })
}

/** "The side that runs the helper (sender in download mode, or recipient in upload mode)." @throws not_permitted */
function requireRunner(transfer: TransferRow, agent: Admitted, { helper_mode }: TransferSecret): void {
  const runner = helper_mode === 'download' ? transfer.sender_agent_id : transfer.recipient_agent_id
  if (runner === agent.agent_id) return
  throw new ApiError('not_permitted', {
    message: 'The sender runs the helper in download mode, the recipient in upload mode.',
  })
}

/** @throws invalid_request */
function requireEndpoint(endpoint: string): void {
  const problem = endpointFault(endpoint)
  if (problem !== undefined) throw invalid('endpoint', problem)
}

/** In steady time. "At most the helper's expires_at and 1800 s ahead, else 422." @throws invalid_request */
function endOf(expiresAt: string, now: Date, { steadyIso }: Times): string {
  const left = Date.parse(expiresAt) - now.getTime()
  if (left <= 0) throw invalid('expires_at', 'must be in the future')
  if (left > transferLimits.ttlSeconds.max * 1000)
    throw invalid('expires_at', `must be at most ${transferLimits.ttlSeconds.max} seconds ahead`)
  return new Date(Date.parse(steadyIso) + left).toISOString()
}

const invalid = (field: string, problem: string): ApiError =>
  new ApiError('invalid_request', {
    message: `body/${field} ${problem}.`,
    details: { faults: [{ path: `body/${field}`, problem }] },
  })
