/**
 * Checks of every answer: its headers, and a body with exactly the fields that the contract declares.
 *
 * Contract §1.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { callerErrors, type EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import { ErrorBody } from '../../../sdk/contract/error-body.ts'
import { type ErrorCode, errors } from '../../../sdk/contract/errors.ts'
// Loading the contract names the schemas, so the order of imports does not matter.
import '../../../sdk/contract/index.ts'
import { namedSchemas } from '../../../sdk/contract/primitives.ts'
import { sha256 } from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'

/** Returns the schema with every object closed: an undeclared field is an error. */
export function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]))
  const isObject = typeof copy.properties === 'object' && 'type' in copy && copy.type === 'object'
  return isObject ? { ...copy, additionalProperties: false } : copy
}

const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false })
for (const [name, schema] of namedSchemas) ajv.addSchema(closed(schema) as object, name)

const schemaOf = (schema: object) =>
  '$id' in schema && typeof schema.$id === 'string' ? { $ref: `${schema.$id}#` } : (closed(schema) as object)

const compiled = new WeakMap<object, ValidateFunction>()

function validatorOf(schema: object): ValidateFunction {
  const validate = compiled.get(schema) ?? ajv.compile(schemaOf(schema))
  compiled.set(schema, validate)
  return validate
}

/** Lists the errors of a body, one per line; empty if it is exactly as declared. */
export function undeclared(schema: object, body: unknown): string[] {
  const validate = validatorOf(schema)
  if (validate(body)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

/**
 * "200, `application/octet-stream`, no-store": expects the exact bytes with their length and hash. Contract
 * §1, §9.
 */
function expectBytes({ caller }: EndpointSpec, reply: Reply): void {
  // The client's file is the only answer that a cache may keep.
  expectHeaders(reply, 'application/octet-stream', caller === 'public' ? immutable : 'no-store')
  const { 'content-length': length, 'x-content-sha256': hash } = reply.headers
  expect([Number(length), hash]).toEqual([reply.bytes.length, sha256(reply.bytes)])
}

const immutable = 'public, max-age=31536000, immutable'

function expectHeaders(
  { headers }: Reply,
  type = 'application/json; charset=utf-8',
  cache = 'no-store',
): void {
  expect(headers).toMatchObject({
    'content-type': type,
    'cache-control': cache,
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9_-]{12}$/),
  })
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
}

export function expectSuccess(entry: EndpointSpec, reply: Reply): void {
  expect(`${reply.status} ${reply.status === 200 ? '' : reply.text}`).toBe('200 ')
  if (entry.bytes === 'response') {
    expectBytes(entry, reply)
    return
  }
  expectHeaders(reply)
  expect(undeclared(entry.response, reply.json)).toEqual([])
}

/** The codes that the contract allows an endpoint to answer. */
export const codesOf = (entry: EndpointSpec): ReadonlySet<ErrorCode> =>
  new Set([
    ...callerErrors[entry.caller],
    ...entry.errors,
    ...(entry.body ? (['body_too_large'] as const) : []),
  ])

/** Expects a refusal with the status of its code and a body that is exactly an Error; returns the body. */
export function expectRefusal(reply: Reply, code: ErrorCode, what = ''): ErrorBody {
  const said = reply.status === 200 ? { error: 'nothing: it was accepted' } : (reply.json as ErrorBody)
  expect(`${reply.status} ${said.error}`, `${what} ${reply.text}`).toBe(`${errors[code].status} ${code}`)
  expectHeaders(reply)
  expect(undeclared(ErrorBody, said)).toEqual([])
  const body = said as ErrorBody
  expect(body.request_id).toBe(reply.headers['x-request-id'])
  expect(body.message).not.toBe('')
  const waits = reply.status === 429 || reply.status === 503
  expect(reply.headers['retry-after'] ?? 'none').toMatch(waits ? /^[1-9][0-9]*$/ : /^none$/)
  return body
}
