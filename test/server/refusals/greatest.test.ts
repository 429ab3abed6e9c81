/**
 * The greatest and the least value of each field, as the contract has them, are values that the server takes.
 *
 * `fields.test.ts` shows that one more is refused. Together they say that a figure of the contract, which is
 * also that of docs/api.md, is the figure that the server enforces.
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

/** Fields whose value must fit another field or what is stored: a proof, a secret, a claim, a file. */
const bound: Partial<Record<EndpointId, readonly string[]>> = {
  'enrollments.claim': ['code', 'public_key', 'proof', 'device'],
  'owner.signIn.setup': ['token'],
  'owner.signIn.start': ['name', 'password', 'link_token'],
  'owner.signIn.confirm': ['password'],
  'owner.projects.delete': ['confirm_name'],
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

/** The value at the edge of a field; undefined where only one form of it exists, such as an id. */
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
  // Of ids that must differ the refusal tests ask for too many; whether a hundred are taken is the inbox's to
  // show.
  if (count === undefined || schema.uniqueItems) return undefined
  const [first] = good
  return Array.from({ length: count }, () => extremes(schema.items ?? {}, first, extreme, []))
}

/** The body with each field that has an edge at it. */
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

/** Behind a reference, and of several alternatives the one that the good value has. */
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
  test.each(['greatest', 'least'] as const)('takes the %s value of each field', async (extreme) => {
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

/** Numbers of a query. What waits is left out: that it may wait so long is the tests' of delivery to show. */
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
  '$id takes the greatest and the least number of each parameter',
  async ({ id, entry, numbers }) => {
    const ready = await (cases[id] as CaseOf<never>).success(world)
    for (const { name, edges } of numbers)
      for (const edge of edges) {
        const reply = await send(entry, { ...ready, query: `?${name}=${edge}` })
        expect([name, edge, reply.status, reply.status === 200 ? '' : reply.text]).toEqual([
          name,
          edge,
          200,
          '',
        ])
      }
  },
)

test('an Idempotency-Key of the least and of the greatest length is taken', async () => {
  const entry = contract.messages.send
  const ready = await (cases['messages.send'] as CaseOf<never>).success(world)
  for (const length of [8, 128]) {
    const reply = await send(entry, { ...ready, key: 'k'.repeat(length) })
    expect([length, reply.status]).toEqual([length, 200])
  }
})
