/**
 * Headers of answers: which answers carry each, and its value. The API description and docs/protocol.md are read from here.
 *
 * Contract §1 "Every response carries", §2.
 */
import type { EndpointSpec } from './endpoint.ts'
import { headers } from './headers.ts'
import { contentHashHeader } from './helper/endpoints.ts'

export interface AnswerHeader {
  readonly name: string
  /** The answers that carry it, in words. */
  readonly on: string
  /** Whether the answers of this status carry it; `may`: some of them. */
  stands(entry: EndpointSpec, status: number): boolean | 'may'
  readonly description: string
  readonly schema: {
    readonly type: 'string' | 'integer'
    readonly enum?: readonly string[]
    readonly pattern?: string
    readonly minimum?: number
  }
}

/** Every header of an answer that a client may need. That each says `no-store` and `nosniff` is told once, in words. */
export const answerHeaders: readonly AnswerHeader[] = [
  {
    name: headers.requestId,
    on: 'every answer',
    stands: () => true,
    description: "The node's id of the request. The node ignores one that a client sends.",
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
  },
  {
    name: headers.replayed,
    on: 'a success of an endpoint that takes an Idempotency-Key, if it is a stored answer',
    stands: ({ idempotent }, status) => (idempotent === true && status === 200 ? 'may' : false),
    description: 'The answer is the stored one of an earlier request with this Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  {
    name: 'Retry-After',
    on: '429 and 503',
    stands: (_entry, status) => status === 429 || status === 503,
    description: 'Whole seconds to wait. `retry_after_ms` of the body is exact.',
    schema: { type: 'integer', minimum: 1 },
  },
  {
    name: 'Allow',
    on: '405',
    stands: (_entry, status) => status === 405,
    description: 'The methods of the path.',
    schema: { type: 'string' },
  },
  {
    name: contentHashHeader,
    on: 'bytes of a package',
    stands: ({ bytes }, status) => bytes === 'response' && status === 200,
    description: 'SHA-256 of these bytes, lower-case hex.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  },
  {
    name: 'Set-Cookie',
    on: 'a sign-in, a confirmation, a sign-out and a changed password',
    stands: ({ cookie }, status) => cookie === true && status === 200,
    description: "The owner's session cookie, or its removal.",
    schema: { type: 'string' },
  },
]
