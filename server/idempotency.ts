/**
 * Idempotency: each key has one outcome. The record holds the bytes of the answer and is written in the
 * transaction of the effect.
 *
 * - The same request again gets the same bytes, also from a new session and after the state has changed.
 * - Another body under the same key is a conflict.
 * - A refused request stores nothing, so its key stays free.
 *
 * Contract §2 "Idempotency".
 */
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { prepared } from './database/prepared.ts'
import type { Tx } from './database/tx.ts'

/** Identifies a mutation of one principal. */
export interface Keyed {
  readonly method: string
  /** The path template: `/api/v1/messages`. */
  readonly route: string
  readonly key: string
  /** SHA-256 of the target and the raw body. */
  readonly fingerprint: Buffer
}

/** Bytes of an answer, sent unchanged. */
export class Answer {
  readonly bytes: string
  readonly replayed: boolean
  constructor(bytes: string, replayed: boolean) {
    this.bytes = bytes
    this.replayed = replayed
  }
}

/** Hashes to hex first: in Node that takes half as long as hashing to a buffer. */
const sha256 = (bytes: string | Buffer): Buffer => Buffer.from(hash('sha256', bytes), 'hex')

export function keyedRequest(request: FastifyRequest, route: string, body: Buffer): Keyed {
  const key = request.headers['idempotency-key']
  return {
    method: request.method,
    route,
    key: typeof key === 'string' ? key : '',
    fingerprint: sha256(Buffer.concat([sha256(request.raw.url ?? ''), body])),
  }
}

/** Owner of the key: the agent or the person, independent of credential and session. */
export interface Principal {
  readonly id: string
  /**
   * Project of a person's request: deleting the project deletes the stored answer. Null for agents, whose
   * answers are deleted with the agent.
   */
  readonly project_id: string | null
}

export const agentPrincipal = ({ agent_id }: { readonly agent_id: string }): Principal => ({
  id: agent_id,
  project_id: null,
})

const find = prepared<{ principal: string; method: string; route: string; key: string }>()((db, p) =>
  db
    .selectFrom('idempotency')
    .select(['fingerprint', 'answer'])
    .where('principal', '=', p('principal'))
    .where('key', '=', p('key'))
    .where('route', '=', p('route'))
    .where('method', '=', p('method')),
)

const store = prepared<{
  principal: string
  method: string
  route: string
  key: string
  fingerprint: Buffer
  answer: string
  created_at: string
  project_id: string | null
}>()((db, p) =>
  db.insertInto('idempotency').values({
    principal: p('principal'),
    method: p('method'),
    route: p('route'),
    key: p('key'),
    fingerprint: p('fingerprint'),
    answer: p('answer'),
    created_at: p('created_at'),
    project_id: p('project_id'),
  }),
)

/**
 * Returns the stored answer of this key, or runs `effect` and stores its answer. @throws idempotency_conflict
 * if the key was used with another target or body; storage_full
 */
export async function once(
  tx: Tx,
  principal: Principal,
  keyed: Keyed,
  effect: () => Promise<object>,
): Promise<Answer> {
  const name = { principal: principal.id, method: keyed.method, route: keyed.route, key: keyed.key }
  const stored = await find.first(tx.db, name)
  if (stored !== undefined) {
    if (stored.fingerprint.equals(keyed.fingerprint)) return new Answer(stored.answer, true)
    throw new ApiError('idempotency_conflict')
  }
  // Only new effects need free space. A stored answer is replayed even if the disk is full.
  tx.requireFreeSpace()
  const answer = JSON.stringify(await effect())
  await store.run(tx.db, {
    ...name,
    fingerprint: keyed.fingerprint,
    answer,
    created_at: tx.steadyIso,
    project_id: principal.project_id,
  })
  return new Answer(answer, false)
}
