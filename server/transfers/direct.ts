/**
 * "Structured secret operation": passes endpoint and token of a helper from the side that runs it to the
 * other side.
 *
 * - The sender runs the helper in `download` mode, the recipient in `upload` mode.
 * - A new deposit replaces the previous one until the transfer ends, so the helper's thirty minutes limit an
 *   endpoint and not the transfer.
 * - Each read is recorded. The audit log never contains what was read.
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
import { decryptSecret, depositSecret, destroyIfExpired, findSecret, isDestroyed } from './secrets.ts'
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
    requireNotFinal(transfer)
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
  let hasBytes = false
  return writeAs(context, caller, async (tx, agent) => {
    const transfer = await ownTransfer(context, tx, agent, id)
    requireDirect(transfer)
    await requirePair(tx.db, transfer)
    const row = await findSecret(tx.db, transfer.id)
    hasBytes = row !== undefined && !isDestroyed(row)
    requireNotFinal(transfer)
    requireState(transfer.state, ['accepted'], 'reading the endpoint')
    if (row === undefined)
      throw new ApiError('not_found', {
        message: 'No endpoint has been deposited yet. Wait for the other side.',
      })
    const { steadyIso, wall } = timesOf(context, tx.steadyNow)
    // Also to the side that deposited it: it may wait for an endpoint of the other side by now.
    if (row.expires_at <= steadyIso || !hasBytes) throw expired()
    if (row.deposited_by === agent.agent_id)
      throw new ApiError('not_permitted', { message: 'Only the other side can read the endpoint.' })
    await recordTransfer(tx, transfer, { kind: 'transfer.endpoint_read', actor: agentActor(agent) })
    return { ...decryptSecret(context, row), expires_at: wall(row.expires_at) }
  }).catch(async (error: unknown) => {
    // The refusal undid its transaction, so the expired endpoint is destroyed in a new one, unless a new
    // deposit has replaced it.
    if (hasBytes && error instanceof ApiError && error.code === 'offer_expired')
      await context.write(caller.project_id, (tx) =>
        destroyIfExpired(tx, id, timesOf(context, tx.steadyNow).steadyIso),
      )
    throw error
  })
}

const otherSide = (transfer: TransferRow, agent: Admitted): string =>
  transfer.sender_agent_id === agent.agent_id ? transfer.recipient_agent_id : transfer.sender_agent_id

const expired = (): ApiError =>
  new ApiError('offer_expired', {
    message:
      'The endpoint has expired. The side that runs the helper can deposit a new one for the same file.',
  })

/**
 * Refuses endpoints of ended transfers. "Destroyed at … any final state (then 410 `offer_expired`)." @throws
 * offer_expired
 */
function requireNotFinal({ state }: TransferRow): void {
  if (!isFinal(state)) return
  throw new ApiError('offer_expired', {
    message: `The transfer is ${state}, so it has no endpoint and accepts none.`,
    details: { state },
  })
}

function requireDirect({ mode, state }: TransferRow): void {
  if (mode === 'direct') return
  throw new ApiError('state_conflict', {
    message: 'This transfer is a package. Its bytes go through the service, so it has no endpoint.',
    details: { state },
  })
}

/**
 * Requires that the caller is the side that runs the helper. "The side that runs the helper (sender in
 * download mode, or recipient in upload mode)." @throws not_permitted
 */
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

/**
 * Expiry of the deposit in steady time. "At most the helper's expires_at and 1800 s ahead, else 422." @throws
 * invalid_request
 */
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
