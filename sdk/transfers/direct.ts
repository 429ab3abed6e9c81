/**
 * Direct transfer from machine to machine: the sender serves the file with a helper, and the recipient
 * downloads it there.
 *
 * - An endpoint lives at most 30 minutes, the transfer longer. Whenever its helper ends, or the stored
 *   endpoint expires, the sender starts another helper and stores its endpoint at the node. The recipient
 *   continues there with the parts that it lacks.
 * - The node passes on endpoint and token. The recipient sends the token only to that endpoint.
 *
 * Spec §3, §4.5; contract §9 "Direct mode".
 */
import { setTimeout as pause } from 'node:timers/promises'
import { finalTransferStates, type Transfer, type TransferSecret } from '../contract/agent/transfers.ts'
import { endpointFault } from '../contract/helper/endpoint.ts'
import type { Manifest } from '../contract/helper/manifest.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import { backoff, pauses } from '../transport/retry.ts'
import { isTemporary } from '../transport/temporary.ts'
import type { TransferCalls, TransferContext } from './calls.ts'
import { downloadFile } from './wire/download.ts'
import { helperEndpoint } from './wire/endpoint.ts'
import type { TransferProgress } from './wire/part-runner.ts'

/** Running helper that serves the file of a transfer. */
export interface ServingHelper {
  readonly endpoint: string
  readonly token: string
  /** Timestamp by this machine's clock. */
  readonly expiresAt: string
  readonly ended: Promise<unknown>
  stop(): Promise<unknown>
}

/** Options of serving a file. */
export interface ServeOptions {
  readonly signal?: AbortSignal | undefined
  /** Called whenever an endpoint was stored at the node. */
  readonly onDeposited?: ((endpoint: string) => void) | undefined
}

const lookMs = 500
const mostFailedStarts = 5

/**
 * Serves a direct transfer until it ends, with one helper after the other. Once the node has answered this
 * program, it may be away for any time.
 *
 * @throws the errors of `start`. LocalError `aborted`, or `unreachable` if 5 helpers in a row end as soon as
 * they start. BridgeError for refusals of the node.
 */
export async function serveDirect(
  context: TransferContext,
  id: string,
  start: () => Promise<ServingHelper>,
  { signal, onDeposited }: ServeOptions = {},
): Promise<Transfer> {
  const { transfers } = context
  for (let failures = 0; failures < mostFailedStarts; failures += 1) {
    const helper = await start()
    try {
      const { transfer: ended, tries } = await depositWhileServed(context, id, helper, signal)
      if (ended !== undefined && finalTransferStates.has(ended.state)) return ended
      if (ended !== undefined) onDeposited?.(helper.endpoint)
      const { transfer, looks } = await whileServed(transfers, id, helper, signal)
      if (transfer !== undefined && finalTransferStates.has(transfer.state)) return transfer
      if (tries + looks > mostFailedStarts) failures = 0
    } finally {
      await helper.stop()
    }
  }
  throw new LocalError('unreachable', 'the helper ends again and again as soon as it serves')
}

/**
 * Stores the helper's endpoint at the node, and tries again while the node is away. A second deposit only replaces
 * the first. Resolves without the transfer if the helper ends before.
 */
async function depositWhileServed(
  context: TransferContext,
  id: string,
  helper: ServingHelper,
  signal: AbortSignal | undefined,
): Promise<{ transfer?: Transfer; tries: number }> {
  const over = new AbortController()
  const end = () => over.abort()
  void helper.ended.then(end, end)
  const either = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal])
  // The node refuses such an endpoint, and the helper needs a moment to end.
  const isOver = () => over.signal.aborted || Date.parse(helper.expiresAt) <= context.clock().getTime()
  for (let tries = 1; ; tries += 1) {
    if (isOver()) return { tries }
    try {
      return { transfer: await deposit(context, id, helper, signal), tries }
    } catch (error) {
      if (isOver()) return { tries }
      // Before the first answer, the address of the node may be wrong.
      if (!isTemporary(error, 'serving') || !context.wasAnswered()) throw error
    }
    await waiting(backoff(tries, pauses.helperAway), either).catch((aborted: unknown) => {
      if (signal?.aborted === true) throw aborted
    })
  }
}

/** Stores the helper's endpoint at the node. Resolves with the transfer, which may have ended meanwhile. */
async function deposit(
  context: TransferContext,
  id: string,
  helper: ServingHelper,
  signal: AbortSignal | undefined,
): Promise<Transfer> {
  const { transfers } = context
  try {
    return await transfers.deposit(id, await secretOf(context, helper), { signal })
  } catch (error) {
    const mayBeOver =
      error instanceof BridgeError && (error.code === 'state_conflict' || error.code === 'offer_expired')
    const transfer = mayBeOver ? await transfers.get(id, { signal }) : undefined
    if (transfer !== undefined && finalTransferStates.has(transfer.state)) return transfer
    throw error
  }
}

/**
 * Returns the endpoint to store. It expires a thirtieth of the remaining lifetime before its helper, which is
 * one minute of 30.
 *
 * The helper ends by this machine's clock, the stored endpoint by the node's. The difference of the clocks is
 * known only up to the duration of a request, so without that margin the endpoint could outlive its helper.
 */
async function secretOf(
  context: TransferContext,
  { endpoint, token, expiresAt }: ServingHelper,
): Promise<TransferSecret> {
  const nodeClock = await context.nodeClock.synchronised()
  const leftMs = Date.parse(expiresAt) - context.clock().getTime()
  const expires_at = new Date(nodeClock().getTime() + leftMs - Math.max(0, leftMs / 30)).toISOString()
  return { endpoint, token, expires_at, helper_mode: 'download' }
}

/** Whether the stored endpoint has expired, so no recipient can read it. Its helper may still live. */
const isExpired = ({ offer }: Transfer): boolean => !offer.endpoint_ready

/**
 * Looks at the transfer until it ends, the helper ends, or the stored endpoint expires. Resolves without the
 * transfer if the helper ended while the node was away.
 */
async function whileServed(
  transfers: TransferCalls,
  id: string,
  helper: ServingHelper,
  signal: AbortSignal | undefined,
): Promise<{ transfer?: Transfer; looks: number }> {
  let hasEnded = false
  const ended = helper.ended.then(() => {
    hasEnded = true
  })
  // Reported by the race below, also if it comes before.
  ended.catch(() => {})
  for (let looks = 1; ; looks += 1) {
    const transfer = await transfers.get(id, { signal }).catch((error: unknown) => {
      // The bytes do not need the node, so the helper keeps serving while the node is unreachable.
      if (!isTemporary(error, 'serving')) throw error
    })
    if (transfer === undefined && hasEnded) return { looks }
    if (
      transfer !== undefined &&
      (finalTransferStates.has(transfer.state) || hasEnded || isExpired(transfer))
    )
      return { transfer, looks }
    await Promise.race([ended, waiting(lookMs, signal)])
  }
}

async function waiting(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await pause(ms, undefined, { signal }).catch((cause: unknown) => {
    throw new LocalError('aborted', 'given up by the caller', { cause })
  })
}

export interface FetchDirectOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
  /** Allows an endpoint with plain http, where anyone on the network path can read the file and the token. */
  readonly allowPlainHttp?: boolean | undefined
  /** Called whenever plain http is used. */
  readonly onPlainHttp?: (() => void) | undefined
  readonly clock: () => Date
  /** Called while the sender has stored no usable endpoint. */
  readonly onWaiting?: (() => void) | undefined
}

/** Abort reason: the sender stored another endpoint. */
class EndpointReplacedError extends Error {}

/**
 * Downloads the file of an accepted transfer into a folder, from one endpoint after the other.
 *
 * An endpoint that does not answer is tried again until the sender replaces it, because its helper may live.
 */
export async function fetchDirect(
  transfers: TransferCalls,
  transfer: Transfer,
  manifest: Manifest,
  folder: string,
  options: FetchDirectOptions,
): Promise<void> {
  let used: TransferSecret | undefined
  let [failures, most] = [0, 0]
  const onProgress = (progress: TransferProgress) => {
    if (progress.parts > most) failures = 0
    most = Math.max(most, progress.parts)
    options.onProgress?.(progress)
  }
  for (;;) {
    const secret = await nextEndpoint(transfers, transfer.id, used, options)
    requireAllowed(secret, options)
    try {
      await downloadFile(
        helperEndpoint({ ...secret, allowPlainHttp: options.allowPlainHttp }),
        manifest,
        folder,
        {
          signal: options.signal,
          onProgress,
          clock: options.clock,
          expiresAt: new Date(secret.expires_at),
          sleep: async (ms, signal) => {
            await waiting(ms, signal)
            const current = await deposited(transfers, transfer.id, signal)
            if (current !== undefined && !isSame(current, secret)) throw new EndpointReplacedError()
          },
        },
      )
      return
    } catch (error) {
      if (error instanceof EndpointReplacedError || isTemporary(error, 'endpoint')) used = secret
      else if (isTemporary(error, 'helper')) {
        failures += 1
        options.onWaiting?.()
        await waiting(backoff(failures, pauses.helperAway), options.signal)
      } else throw error
    }
  }
}

/** Compares endpoints in all fields, because a new endpoint of the same sender may have the same token. */
const isSame = (one: TransferSecret, other: TransferSecret | undefined): boolean =>
  one.endpoint === other?.endpoint && one.token === other.token && one.expires_at === other.expires_at

/** Checks the endpoint again, although the node has checked it, before any byte is fetched from it. */
function requireAllowed(
  { endpoint }: TransferSecret,
  { allowPlainHttp, onPlainHttp }: FetchDirectOptions,
): void {
  const problem = endpointFault(endpoint)
  if (problem !== undefined) throw new LocalError('insecure_url', `the endpoint of the sender ${problem}`)
  if (endpoint.startsWith('https://')) return
  if (allowPlainHttp !== true)
    throw new LocalError('insecure_url', 'the sender serves the file over plain http, which was not allowed')
  onPlainHttp?.()
}

async function nextEndpoint(
  transfers: TransferCalls,
  id: string,
  used: TransferSecret | undefined,
  { signal, onWaiting }: FetchDirectOptions,
): Promise<TransferSecret> {
  for (let failures = 0; ; ) {
    try {
      const secret = await deposited(transfers, id, signal)
      if (secret !== undefined && !isSame(secret, used)) return secret
      failures = 0
    } catch (error) {
      // The sender waits for the node too.
      if (!isTemporary(error, 'serving')) throw error
      failures += 1
    }
    onWaiting?.()
    await waiting(failures === 0 ? lookMs : backoff(failures, pauses.helperAway), signal)
  }
}

/**
 * Returns the current endpoint, or undefined if there is none or it has expired.
 *
 * @throws LocalError `transfer_expired` if the transfer has ended
 */
async function deposited(
  transfers: TransferCalls,
  id: string,
  signal: AbortSignal | undefined,
): Promise<TransferSecret | undefined> {
  try {
    return await transfers.secret(id, { signal })
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    const isMissing = error.code === 'not_found' || error.code === 'offer_expired'
    if (!isMissing) throw error
    const transfer = await transfers.get(id, { signal })
    if (!finalTransferStates.has(transfer.state)) return undefined
    throw new LocalError('transfer_expired', `the transfer is ${transfer.state}: its file does not come`)
  }
}
