/**
 * Response headers: which answers carry each of them, and its form. The API description is generated from
 * this list, and docs/protocol.md is checked against it.
 *
 * Contract §1 "Every response carries", §2.
 */
import type { EndpointSpec } from './endpoint.ts'
import { headers } from './headers.ts'
import { contentHashHeader } from './helper/endpoints.ts'

export interface AnswerHeader {
  readonly name: string
  /** Description of the answers that carry it. */
  readonly on: string
  /** Whether the answers with this status carry it: all, none, or some (`may`). */
  stands(entry: EndpointSpec, status: number): boolean | 'may'
  readonly description: string
  readonly schema: {
    readonly type: 'string' | 'integer'
    readonly enum?: readonly string[]
    readonly pattern?: string
    readonly minimum?: number
  }
}

/**
 * Every response header that a client may need. All answers also carry `no-store` and `nosniff`, which are
 * not listed here.
 */
export const answerHeaders: readonly AnswerHeader[] = [
  {
    name: headers.requestId,
    on: 'every answer',
    stands: () => true,
    description: 'Request id, assigned by the node. The node ignores an id that a client sends.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
  },
  {
    name: headers.replayed,
    on: 'a success of an endpoint that takes an Idempotency-Key, if it is a stored answer',
    stands: ({ idempotent }, status) => (idempotent === true && status === 200 ? 'may' : false),
    description: 'Present if the node repeats the answer to an earlier request with this Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  {
    name: 'Retry-After',
    on: '429 and 503',
    stands: (_entry, status) => status === 429 || status === 503,
    description: 'Whole seconds to wait. `retry_after_ms` in the body is exact.',
    schema: { type: 'integer', minimum: 1 },
  },
  {
    name: 'Allow',
    on: '405',
    stands: (_entry, status) => status === 405,
    description: 'Methods that the path supports.',
    schema: { type: 'string' },
  },
  {
    name: contentHashHeader,
    on: 'bytes of a package or of the client',
    stands: ({ bytes }, status) => bytes === 'response' && status === 200,
    description: 'SHA-256 of the bytes in this answer, lower-case hex.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  },
  {
    name: 'Set-Cookie',
    on: 'a sign-in, a confirmation, a sign-out and a changed password',
    stands: ({ cookie }, status) => cookie === true && status === 200,
    description: "Sets or clears the owner's session cookie.",
    schema: { type: 'string' },
  },
]
