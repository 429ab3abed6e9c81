/**
 * `call(endpoint, input)`: builds a request, signs it, sends it, retries it, and decodes the answer.
 *
 * - Target and body bytes are built once. Every attempt gets new authorization headers for the same bytes and
 *   the same Idempotency-Key.
 * - Redirects are refused, so no header reaches another host.
 * - An answer must be a JSON object with the fields that the contract requires.
 *
 * Contract §1, §2, §13.
 */
import type { BodyOf, Caller, EndpointSpec, ParamsOf, QueryOf, ResponseOf } from '../contract/endpoint.ts'
import { headers } from '../contract/headers.ts'
import { type Address, nameOf, targetOf, urlOf } from './address.ts'
import { failureOf, readAnswer } from './answers.ts'
import { BridgeError, LocalError, type RequestName } from './failures.ts'
import type { Fetch, FetchResponse } from './fetch.ts'
import { pause } from './pause.ts'
import { retryDelay } from './retry.ts'

type Given<K extends string, T> = [T] extends [undefined] ? unknown : { readonly [P in K]: T }
type MaybeGiven<K extends string, T> = [T] extends [undefined]
  ? unknown
  : { readonly [P in K]?: T | undefined }

/** Input of a call: exactly the parts (params, query, body) that its endpoint has. */
export type CallInput<E extends EndpointSpec> = Given<'params', ParamsOf<E>> &
  MaybeGiven<'query', QueryOf<E>> &
  Given<'body', BodyOf<E>>

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, including the pauses between attempts. */
  readonly signal?: AbortSignal | undefined
  /** Time limit of one attempt in milliseconds, 30 seconds by default. */
  readonly timeoutMs?: number | undefined
  /** Number of attempts after temporary failures, at most 4. 4 by default. */
  readonly attempts?: number | undefined
}

/** {@link CallOptions} of a call with an Idempotency-Key, which takes effect once however often it is sent. */
export interface KeyedOptions extends CallOptions {
  /** Pass the key of an earlier call to repeat it safely. If absent, each call generates one. */
  readonly idempotencyKey?: string | undefined
}

/** Request that can be sent any number of times. An outbox stores it. */
export interface PreparedRequest {
  readonly endpoint: string
  readonly caller: Caller
  readonly method: EndpointSpec['method']
  /** Target from `/api/` on, including the query. */
  readonly target: string
  readonly body: string | undefined
  readonly idempotencyKey: string | undefined
  /** True if sending it twice has the same effect as sending it once. */
  readonly repeatable: boolean
  /** Fields that a 200 must have. */
  readonly required: readonly string[]
}

/** Identity of the caller: its authorization headers, and its remedies for refusals. */
export interface Authority {
  /** Returns the authorization headers of one attempt. Called for each attempt. */
  headers(
    request: PreparedRequest,
    body: Uint8Array,
  ): Record<string, string> | Promise<Record<string, string>>
  /**
   * Remedies a refusal, for example a wrong clock. Returns true if the request should be sent again now.
   * `tried` holds the remedies of earlier attempts, so that each is tried once.
   */
  recover?(
    refusal: BridgeError,
    request: PreparedRequest,
    tried: Set<string>,
    options: CallOptions,
  ): Promise<boolean>
  /** Called with every response. */
  answered?(response: FetchResponse): void
}

export interface TransportOptions {
  readonly address: Address
  readonly authority: Authority
  readonly fetch: Fetch
  readonly random: (bytes: number) => Uint8Array
  /** Absent in a browser, which sends its own. */
  readonly userAgent?: string | undefined
  readonly timeoutMs?: number | undefined
  /** Pauses between attempts. A timer by default. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
}

const defaultTimeoutMs = 30_000

/**
 * Builds the request of a call, without authorization. `idempotencyKey` is used only if the endpoint takes
 * one.
 */
export function prepare<E extends EndpointSpec>(
  entry: E,
  input: CallInput<E>,
  idempotencyKey: string | undefined,
): PreparedRequest {
  const { params, query, body } = input as {
    params?: Record<string, unknown>
    query?: Record<string, unknown>
    body?: unknown
  }
  return {
    endpoint: entry.id,
    caller: entry.caller,
    method: entry.method,
    target: targetOf(entry.path, params, query),
    body: entry.body === undefined ? undefined : JSON.stringify(body),
    idempotencyKey: entry.idempotent === true ? idempotencyKey : undefined,
    repeatable: entry.method === 'GET' || entry.idempotent === true || entry.reads === true,
    required: (entry.response as { required?: readonly string[] }).required ?? [],
  }
}

/** Generates an Idempotency-Key from 128 random bits. */
export const freshKey = (random: (bytes: number) => Uint8Array): string =>
  Array.from(random(16), (byte) => byte.toString(16).padStart(2, '0')).join('')

export class Transport {
  readonly #options: TransportOptions
  #wasAnswered = false

  constructor(options: TransportOptions) {
    this.#options = options
  }

  /** Address of the node. */
  get address(): Address {
    return this.#options.address
  }

  get userAgent(): string | undefined {
    return this.#options.userAgent
  }

  /** True once the node has answered a request, with a result or a refusal. Before, the address may be wrong. */
  get wasAnswered(): boolean {
    return this.#wasAnswered
  }

  /**
   * Calls an endpoint.
   *
   * @throws BridgeError if the node refuses; LocalError if no answer of the node arrived.
   */
  async call<const E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<ResponseOf<E>> {
    const key = options.idempotencyKey ?? freshKey(this.#options.random)
    return (await this.send(prepare(entry, input, key), options)) as ResponseOf<E>
  }

  /**
   * Returns the authorization headers for one attempt of a request without a body, for a caller that sends it
   * in another way.
   */
  async authorize(request: PreparedRequest): Promise<Record<string, string>> {
    return this.#options.authority.headers(request, new Uint8Array())
  }

  /**
   * Sends a GET once and returns its unread response. Unlike {@link call} it does not retry, applies no
   * remedy (see {@link recover}), and has no time limit but the caller's signal.
   *
   * @throws as {@link call}, for every response but a 200.
   */
  async open(
    request: PreparedRequest,
    accept: string,
    { signal }: { readonly signal?: AbortSignal | undefined },
  ): Promise<FetchResponse> {
    const { address, authority, fetch } = this.#options
    const requestName = requestNameOf(request, address)
    try {
      const response = await fetch(urlOf(address, request.target), {
        method: request.method,
        headers: { ...this.#plainHeaders(request), accept, ...(await this.authorize(request)) },
        signal: signal ?? new AbortController().signal,
        redirect: 'manual',
      })
      authority.answered?.(response)
      if (response.status !== 200) await readAnswer(requestName, [], response)
      return response
    } catch (error) {
      this.#wasAnswered ||= error instanceof BridgeError
      throw failureOf(error, requestName, signal?.aborted ? 'by-caller' : undefined)
    }
  }

  /** Sends a request as often as the retry policy allows. @throws as {@link call}. */
  async send(request: PreparedRequest, options: CallOptions = {}): Promise<unknown> {
    const body = new TextEncoder().encode(request.body ?? '')
    const tried = new Set<string>()
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(request, body, options)
      } catch (failure) {
        if (await this.recover(failure, request, tried, options)) continue
        const { repeatable } = request
        const { attempts } = options
        const delay = retryDelay({ attempt, attempts, repeatable, failure, jitter: this.#jitter() })
        if (delay === undefined) throw failure
        await this.#sleep(delay, options.signal, request)
      }
    }
  }

  /**
   * Remedies a failure. Returns true if the request should be sent again now. Each remedy is tried once per
   * `tried` set.
   */
  async recover(
    failure: unknown,
    request: PreparedRequest,
    tried: Set<string>,
    options: CallOptions,
  ): Promise<boolean> {
    const { authority } = this.#options
    if (!(failure instanceof BridgeError) || authority.recover === undefined) return false
    return authority.recover(failure, request, tried, options)
  }

  async #attempt(
    request: PreparedRequest,
    body: Uint8Array<ArrayBuffer>,
    { signal: given, timeoutMs }: CallOptions,
  ): Promise<unknown> {
    const { address, authority, fetch } = this.#options
    const url = urlOf(address, request.target)
    const authorized = await authority.headers(request, body)
    const timeout = AbortSignal.timeout(timeoutMs ?? this.#options.timeoutMs ?? defaultTimeoutMs)
    const requestName = requestNameOf(request, address)
    try {
      const response = await fetch(url, {
        method: request.method,
        headers: { ...this.#plainHeaders(request), ...authorized },
        ...(request.body === undefined ? {} : { body }),
        signal: given === undefined ? timeout : AbortSignal.any([given, timeout]),
        redirect: 'manual',
      })
      authority.answered?.(response)
      const answer = await readAnswer(requestName, request.required, response)
      this.#wasAnswered = true
      return answer
    } catch (error) {
      this.#wasAnswered ||= error instanceof BridgeError
      throw failureOf(
        error,
        requestName,
        given?.aborted ? 'by-caller' : timeout.aborted ? 'by-time' : undefined,
      )
    }
  }

  #plainHeaders(request: PreparedRequest): Record<string, string> {
    const { userAgent } = this.#options
    return {
      accept: 'application/json',
      ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(request.idempotencyKey === undefined ? {} : { [headers.idempotencyKey]: request.idempotencyKey }),
    }
  }

  #jitter(): number {
    const [high = 0, low = 0] = this.#options.random(2)
    return (high * 256 + low) / 2 ** 16
  }

  async #sleep(ms: number, signal: AbortSignal | undefined, request: PreparedRequest): Promise<void> {
    const { sleep = pause } = this.#options
    try {
      await sleep(ms, signal)
    } catch (cause) {
      const { method, path } = requestNameOf(request)
      throw new LocalError('aborted', `${method} ${path}: aborted while waiting to retry`, { cause })
    }
  }
}

const requestNameOf = ({ method, target }: PreparedRequest, address?: Address): RequestName => ({
  method,
  path: target.split('?')[0] ?? target,
  at: address && nameOf(address),
})
