/**
 * An agent on the wire: a key pair, a credential and signed requests. It can also present a device beside the
 * key, or a secret instead of the key. It does not use the SDK, so the server is tested against the contract
 * and not against our own client.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { enrollV1, requestV1, requestV2, sha256Hex } from '../../sdk/signing/canonical.ts'
import { generateKeyPair, type KeyPair } from '../../sdk/signing/keys.ts'
import { sign } from '../../sdk/signing/proof.ts'
import { exchange, type Reply } from './http.ts'

export interface SignedCall {
  readonly method?: string
  readonly target: string
  /** An object is sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown
  /** Idempotency-Key. A POST that needs one gets a fresh key unless this is `null`. */
  readonly key?: string | null
  /** Replaces or removes (`null`) headers after signing. */
  readonly override?: Readonly<Record<string, string | null>>
  /** Headers added after signing, also beside headers of the same name. */
  readonly extra?: readonly (readonly [string, string])[]
  /** Unix seconds of the proof. */
  readonly time?: number
  readonly nonce?: string
  readonly session?: string | null
}

export interface Enrolled {
  readonly server_id: string
  readonly credential_id: string
  readonly agent: { id: string; name: string }
  readonly project: { id: string }
}

/** Ways to prove an identity other than by its key alone. */
export interface Bound {
  /** The X-Bridge-Device header of a device-bound identity. */
  readonly device?: string
  /** The secret of a legacy credential, whose requests are not signed. */
  readonly secret?: string
}

export class TestAgent {
  readonly baseUrl: string
  readonly keys: KeyPair
  readonly enrolled: Enrolled
  readonly instanceId = randomUUID()
  readonly #clock: () => Date
  readonly secret: string | undefined
  device: string | undefined
  session: { id: string; generation: number } | undefined

  constructor(baseUrl: string, keys: KeyPair, enrolled: Enrolled, clock: () => Date, bound: Bound = {}) {
    this.device = bound.device
    this.secret = bound.secret
    this.baseUrl = baseUrl
    this.keys = keys
    this.enrolled = enrolled
    this.#clock = clock
  }

  get id(): string {
    return this.enrolled.agent.id
  }

  get name(): string {
    return this.enrolled.agent.name
  }

  /** The headers of a signed request, in order. */
  sign(call: SignedCall, bytes: string | Buffer): [string, string][] {
    const method = call.method ?? (call.body === undefined ? 'GET' : 'POST')
    const time = String(call.time ?? Math.floor(this.#clock().getTime() / 1000))
    const nonce = call.nonce ?? randomBytes(16).toString('base64url')
    const session = call.session === undefined ? this.session?.id : (call.session ?? undefined)
    const key =
      call.key === undefined ? (method === 'POST' ? randomUUID() : undefined) : (call.key ?? undefined)
    const parts = {
      serverId: this.enrolled.server_id,
      credentialId: this.enrolled.credential_id,
      method,
      target: call.target,
      bodySha256: sha256Hex(bytes),
      time,
      nonce,
      ...(session !== undefined && { session }),
      ...(key !== undefined && { idempotencyKey: key }),
    }
    const headers = this.#identify(parts)
    if (session !== undefined) headers.push(['X-Bridge-Session', session])
    if (key !== undefined) headers.push(['Idempotency-Key', key])
    if (call.body !== undefined) headers.push(['Content-Type', 'application/json'])
    const changed = Object.entries(call.override ?? {})
    const kept = headers.filter(
      ([name]) => !changed.some(([other]) => other.toLowerCase() === name.toLowerCase()),
    )
    const replaced = changed.flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, value]],
    )
    return [
      ...kept,
      ...replaced,
      ...(call.extra ?? []).map(([name, value]): [string, string] => [name, value]),
    ]
  }

  #identify(parts: Parameters<typeof requestV1>[0]): [string, string][] {
    const { credentialId, time, nonce } = parts
    if (this.secret !== undefined) return [['Authorization', `AgentKey ${credentialId}.${this.secret}`]]
    const text = this.device === undefined ? requestV1(parts) : requestV2({ ...parts, device: this.device })
    const headers: [string, string][] = [
      ['Authorization', `AgentKey ${credentialId}`],
      ['X-Bridge-Time', time],
      ['X-Bridge-Nonce', nonce],
      ['X-Bridge-Proof', sign(this.keys.privateKey, text)],
    ]
    if (this.device !== undefined) headers.push(['X-Bridge-Device', this.device])
    return headers
  }

  call(call: SignedCall): Promise<Reply> {
    const bytes =
      call.body === undefined
        ? ''
        : typeof call.body === 'string' || Buffer.isBuffer(call.body)
          ? call.body
          : JSON.stringify(call.body)
    return exchange(this.baseUrl, {
      method: call.method ?? (call.body === undefined ? 'GET' : 'POST'),
      target: call.target,
      headers: this.sign(call, bytes),
      body: call.body === undefined ? undefined : bytes,
    })
  }

  /** Returns the parsed answer; throws if the call fails. */
  async ok<T>(call: SignedCall): Promise<T> {
    const reply = await this.call(call)
    if (reply.status !== 200)
      throw new Error(`${call.method ?? ''} ${call.target} answered ${reply.status}: ${reply.text}`)
    return reply.json as T
  }

  /** Starts a session. A device-bound identity requests its challenge first. */
  async startSession(
    instanceId: string = this.instanceId,
    fields: object = {},
  ): Promise<{ id: string; generation: number; resumed: boolean; replaced_session_id: string | null }> {
    const challenge = this.device === undefined ? {} : { challenge: await this.challenge() }
    const reply = await this.requestSession(instanceId, { ...challenge, ...fields })
    if (reply.status !== 200) throw new Error(`a session start answered ${reply.status}: ${reply.text}`)
    const session = reply.json as {
      id: string
      generation: number
      resumed: boolean
      replaced_session_id: null
    }
    this.session = session
    return session
  }

  /** Returns the raw reply; the agent keeps the session that it has. */
  requestSession(instanceId: string = this.instanceId, fields: object = {}): Promise<Reply> {
    const body = { instance_id: instanceId, client: { name: 'test', version: '1' }, ...fields }
    return this.call({ target: '/api/v1/sessions', body, session: null, key: null })
  }

  async challenge(): Promise<string> {
    const target = '/api/v1/sessions/challenge'
    return (await this.ok<{ challenge: string }>({ target, body: {}, session: null, key: null })).challenge
  }

  async acknowledge(...messageIds: string[]): Promise<void> {
    await this.ok({ target: '/api/v1/acknowledgements', body: { message_ids: messageIds }, key: null })
  }

  async conversationWith(peerId: string): Promise<string> {
    const body = { recipient_agent_id: peerId }
    return (await this.ok<{ id: string }>({ target: '/api/v1/conversations', body })).id
  }

  async send(conversationId: string, recipientId: string, text: string, key?: string) {
    const body = {
      conversation_id: conversationId,
      recipient_agent_id: recipientId,
      type: 'note',
      body: text,
    }
    const sent = await this.ok<{ message: { id: string; sequence: number } }>({
      target: '/api/v1/messages',
      body,
      ...(key !== undefined && { key }),
    })
    return sent.message
  }

  async inbox(
    query = '',
  ): Promise<{ messages: { id: string; body: string }[]; waiting: number; has_more: boolean }> {
    return this.ok({ target: `/api/v1/inbox${query}` })
  }
}

/** Claims the code of an enrolment prompt with a fresh key pair, bound to a device if one is given. */
export async function enroll(
  baseUrl: string,
  code: string,
  clock: () => Date,
  device?: string,
): Promise<TestAgent> {
  const keys = generateKeyPair()
  const reply = await exchange(baseUrl, {
    method: 'POST',
    target: '/api/v1/enrollments/claim',
    headers: [
      ['Content-Type', 'application/json'],
      ...(device === undefined ? [] : [['X-Bridge-Device', device] as const]),
    ],
    body: JSON.stringify(claimBody(code, keys, device)),
  })
  if (reply.status !== 200) throw new Error(`enrolment answered ${reply.status}: ${reply.text}`)
  const bound = device === undefined ? {} : { device }
  return new TestAgent(baseUrl, keys, reply.json as Enrolled, clock, bound)
}

export function claimBody(code: string, keys: KeyPair, device?: string) {
  const text = enrollV1({ codeSha256: sha256Hex(code), publicKey: keys.publicKey, device })
  return {
    code,
    public_key: keys.publicKey,
    proof: sign(keys.privateKey, text),
    client: { name: 'test', version: '1' },
    ...(device !== undefined && { device }),
  }
}

/** The holder of a legacy credential: it sends the secret and signs nothing. */
export const legacyAgent = (
  baseUrl: string,
  enrolled: Enrolled,
  secret: string,
  clock: () => Date,
): TestAgent => new TestAgent(baseUrl, generateKeyPair(), enrolled, clock, { secret })
