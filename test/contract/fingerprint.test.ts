/**
 * The wire does not change by accident.
 *
 * The fingerprint covers everything that a client can observe: endpoints, schemas, codes and header rules.
 * Descriptions for people are left out, so rewording one does not change the contract.
 */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { closeCodes } from '../../sdk/contract/agent/events.ts'
import { answerHeaders } from '../../sdk/contract/answer-headers.ts'
import { errors } from '../../sdk/contract/errors.ts'
import { headerRules, headers } from '../../sdk/contract/headers.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { namedSchemas } from '../../sdk/contract/primitives.ts'
import { apiVersion } from '../../server/http/openapi.ts'

/** The fingerprint of each published version of the description. */
const fingerprints: Record<string, string> = {
  '1.2.0': '1675730ac0810124964c8b6c80e4809480ebb047419276955be6f0771c063c5b',
}

const prose = ['summary', 'description', 'meaning']

/** Sorts keys and removes descriptions, so that only the wire format makes a difference. */
function canonical(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(canonical)
  if (node instanceof RegExp) return node.source
  if (typeof node !== 'object' || node === null) return node
  const kept = Object.entries(node).filter(
    ([key, value]) => !(prose.includes(key) && typeof value === 'string'),
  )
  return Object.fromEntries(
    kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, canonical(value)]),
  )
}

const byId = <T>(items: readonly T[], id: (item: T) => string) =>
  Object.fromEntries(items.map((item) => [id(item), item]))

const wire = {
  endpoints: byId(
    endpoints.map((entry) => ({ ...entry, errors: [...entry.errors].sort() })),
    ({ id }) => id,
  ),
  schemas: Object.fromEntries(namedSchemas),
  errors,
  closeCodes,
  headers,
  headerRules,
  answerHeaders,
}

const hashOf = (value: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(canonical(value)))
    .digest('hex')

const changed = `The contract changed. If that is meant, say in CHANGELOG.md, under Unreleased, what clients will see. Then:
- after a release: raise apiVersion in server/http/openapi.ts and give the new version its fingerprint here;
- before the first one: ${apiVersion} is what the contract grows into, so replace its fingerprint.`

test('the contract is the one of its version', () => {
  const now = hashOf(wire)
  expect(now, changed).toBe(fingerprints[apiVersion])
})

test('one more field, code or limit changes the fingerprint; one more sentence does not', () => {
  const hashWith = (change: object) => hashOf({ ...wire, ...change })
  const [first] = endpoints
  expect(hashWith({ errors: { ...errors, teapot: { status: 418 } } })).not.toBe(hashOf(wire))
  expect(hashWith({ endpoints: { ...wire.endpoints, more: first } })).not.toBe(hashOf(wire))
  const schemas = { ...wire.schemas, Name: { type: 'string', maxLength: 81 } }
  expect(hashWith({ schemas })).not.toBe(hashOf(wire))
  const endpointsReworded = byId(
    Object.values(wire.endpoints).map((entry) => ({ ...entry, summary: 'Better.' })),
    ({ id }) => id,
  )
  expect(hashWith({ endpoints: endpointsReworded })).toBe(hashOf(wire))
})
