/**
 * The server accepts the largest and the smallest value of each field in the contract.
 *
 * `fields.test.ts` shows that it refuses one more. Together they show that each limit in the contract, and
 * thus in docs/api.md, is the limit that the server enforces.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ErrorBody } from '../../../sdk/contract/error-body.ts'
import { contract, type EndpointId } from '../../../sdk/contract/index.ts'
import { namedSchemas } from '../../../sdk/contract/primitives.ts'
import type { CaseOf } from '../endpoints/case.ts'
import { cases } from '../endpoints/cases.ts'
import { send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'
import { answering, withBody } from './attempts.ts'
import type { Schema } from './fields.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

/** Fields whose value must match, or differ from, stored data: a proof, a secret, a claim, a file, a unique name. */
const bound: Partial<Record<EndpointId, readonly string[]>> = {
  'enrollments.claim': ['code', 'public_key', 'proof', 'device'],
  'owner.signIn.setup': ['token'],
  'owner.signIn.start': ['name', 'password', 'link_token'],
  'owner.signIn.confirm': ['password'],
  'owner.projects.delete': ['confirm_name'],
  'owner.projects.change': ['name'],
  'transfers.create': ['size', 'sha256', 'parts'],
  'transfers.receipt': ['size', 'sha256'],
  'tasks.renew': ['claim_generation', 'session_generation'],
  'tasks.progress': ['claim_generation', 'session_generation'],
  'tasks.complete': ['claim_generation', 'session_generation'],
  'tasks.fail': ['claim_generation', 'session_generation'],
  'tasks.release': ['claim_generation', 'session_generation'],
  'tasks.stopped': ['claim_generation', 'session_generation'],
}

type Extreme = 'greatest' | 'least'

/** Returns the value at the limit of a field; undefined if the field has only one form, such as an id. */
function edgeOf(schema: Schema, good: unknown, extreme: Extreme): unknown {
  const { maxLength, minLength, minimum, maximum, pattern, 'x-max-bytes': bytes } = schema
  if (schema.type === 'integer') return extreme === 'greatest' ? maximum : minimum
  if (schema.type === 'array') return listOf(schema, good as readonly unknown[], extreme)
  if (schema.type !== 'string') return undefined
  const length = extreme === 'greatest' ? (maxLength ?? bytes) : minLength
  if (length === undefined) return undefined
  const text = 'a'.repeat(length)
  return pattern === undefined || new RegExp(pattern, 'u').test(text) ? text : undefined
}

function listOf(schema: Schema, good: readonly unknown[], extreme: Extreme): unknown {
  const count = extreme === 'greatest' ? schema.maxItems : schema.minItems
  // Lists of unique ids are skipped: the refusal tests cover too many, and the inbox tests cover a hundred.
  if (count === undefined || schema.uniqueItems) return undefined
  const [first] = good
  return Array.from({ length: count }, () => extremes(schema.items ?? {}, first, extreme, []))
}

/** Returns the body with each field at its limit, if it has one. */
function extremes(node: Schema, good: unknown, extreme: Extreme, left: readonly string[]): unknown {
  const schema = resolved(node, good)
  if (schema.properties === undefined || typeof good !== 'object' || good === null)
    return edgeOf(schema, good, extreme) ?? good
  return Object.fromEntries(
    Object.entries(good).map(([name, value]) => {
      const child = schema.properties?.[name]
      return [name, child === undefined || left.includes(name) ? value : extremes(child, value, extreme, [])]
    }),
  )
}

/** Resolves references, and selects the alternative that matches the valid value. */
function resolved(node: Schema, good: unknown): Schema {
  if (node.$ref !== undefined)
    return resolved((namedSchemas.get(node.$ref.replace('#', '')) ?? {}) as Schema, good)
  if (node.anyOf === undefined) return node
  const fits = (each: Schema) =>
    each.properties === undefined
      ? each.type === typeof good || (each.type === 'integer' && typeof good === 'number')
      : typeof good === 'object' && good !== null && (each.required ?? []).every((name) => name in good)
  return node.anyOf.map((each) => resolved(each, good)).find(fits) ?? {}
}

describe.each(withBody.map((entry) => ({ id: entry.id as EndpointId, entry })))('$id', ({ id, entry }) => {
  test.each(['greatest', 'least'] as const)('accepts the %s value of each field', async (extreme) => {
    const ready = await (cases[id] as CaseOf<never>).success(world)
    const body = extremes(entry.body as Schema, ready.body, extreme, bound[id] ?? [])
    const reply = await send(entry, { ...ready, body })
    const { error, details } = reply.status === 200 ? { error: '', details: {} } : (reply.json as ErrorBody)
    expect([reply.status, error, details]).toEqual([200, '', {}])
  })
})

interface Edges {
  readonly name: string
  readonly edges: readonly number[]
}

/** Numbers of a query. Parameters of waits are left out; the tests of delivery cover them. */
const numbersOf = (query: Schema | undefined): Edges[] =>
  Object.entries(query?.properties ?? {}).flatMap(([name, { type, minimum, maximum }]) =>
    type === 'integer' && name !== 'wait_seconds'
      ? [{ name, edges: [minimum, maximum].filter((edge) => edge !== undefined) }]
      : [],
  )

const asked = answering.map((entry) => ({
  id: entry.id as EndpointId,
  entry,
  numbers: numbersOf(entry.query as Schema),
}))

test.each(asked.filter(({ numbers }) => numbers.length > 0))(
  '$id accepts the largest and the smallest number of each parameter',
  async ({ id, entry, numbers }) => {
    const ready = await (cases[id] as CaseOf<never>).success(world)
    const given = new URLSearchParams(ready.query)
    const required = (entry.query as Schema).required ?? []
    const needed = Object.fromEntries(required.map((each) => [each, given.get(each) ?? '']))
    for (const { name, edges } of numbers)
      for (const edge of edges) {
        const query = new URLSearchParams({ ...needed, [name]: String(edge) })
        const reply = await send(entry, { ...ready, query: `?${query}` })
        expect([name, edge, reply.status, reply.status === 200 ? '' : reply.text]).toEqual([
          name,
          edge,
          200,
          '',
        ])
      }
  },
)

test('an Idempotency-Key of the minimum and of the maximum length is accepted', async () => {
  const entry = contract.messages.send
  const ready = await (cases['messages.send'] as CaseOf<never>).success(world)
  for (const length of [8, 128]) {
    const reply = await send(entry, { ...ready, key: 'k'.repeat(length) })
    expect([length, reply.status]).toEqual([length, 200])
  }
})
