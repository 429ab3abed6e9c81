/**
 * Targets that do not exist: unknown paths, other methods, malformed ids, queries that violate their schema.
 *
 * "A malformed id is 422, an unknown one 404", "every method that a path doesn't have: 405 with Allow".
 * Contract §1.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import { errors } from '../../../sdk/contract/errors.ts'
import { endpoints } from '../../../sdk/contract/index.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import { rowsAt } from '../../support/attacks.ts'
import { expectRefusal } from '../endpoints/answers.ts'
import { unknownId } from '../endpoints/case.ts'
import { send, targetOf } from '../endpoints/send.ts'
import { type Attempt, Attempts, answering, named } from './attempts.ts'
import type { Schema } from './fields.ts'

let attempts: Attempts

beforeAll(async () => {
  attempts = await Attempts.start()
})
afterAll(() => attempts.close())

const malformedIds = [
  'not-a-uuid',
  '1',
  '-',
  'null',
  unknownId.toUpperCase().replace('0', 'A'),
  unknownId.replaceAll('-', ''),
  `${unknownId}0`,
  'a'.repeat(101),
  'a'.repeat(5000),
]

const otherNumbers = [
  '',
  '-1',
  '1.5',
  '1e1',
  '0x1',
  '01',
  '%201',
  '1%20',
  '%2B1',
  'NaN',
  'Infinity',
  'true',
  '%EF%BC%91',
]

const invalidOf = (entry: EndpointSpec, what: string, changed: object, path: string): Attempt => ({
  what,
  ready: { ...attempts.ready(entry), ...changed },
  code: 'invalid_request',
  path,
})

const gets = answering.filter(({ method }) => method === 'GET').map((entry) => ({ id: entry.id, entry }))

test.each(gets)('$id refuses a body', async ({ entry }) => {
  const chunked = [['Transfer-Encoding', 'chunked']] as const
  await attempts.expectRefused(entry, [
    invalidOf(entry, 'an object', { body: '{}' }, 'body'),
    invalidOf(entry, 'in chunks', { body: '{}', extra: chunked }, 'body'),
  ])
})

/** Malformed indexes of the parts of a package: a plain decimal number would be well formed. */
const malformedIndexes = ['-1', '01', '1.0', 'one', '12345']

/** Any text is a well-formed file name. */
const malformedOf = (format: string | undefined, pattern: string | undefined): readonly string[] => {
  if (format === 'uuid') return malformedIds
  return pattern === undefined ? [] : malformedIndexes
}

/** Only a field of free text has a minimum length. */
const isText = (minLength: number | undefined): boolean => minLength !== undefined

describe.each(named(answering))('$id', ({ entry, place }) => {
  const invalid = (what: string, changed: object, path: string) => invalidOf(entry, what, changed, path)

  test('names a malformed id in its path', async () => {
    const params = Object.entries((entry.params as Schema | undefined)?.properties ?? {})
    const all = params.flatMap(([name, { format, pattern }]) =>
      rowsAt(place, 5, malformedOf(format, pattern)).map((id) => {
        const changed = { params: { ...attempts.ready(entry).params, [name]: id } }
        return invalid(`${name}=${id}`, changed, `path/${name}`)
      }),
    )
    await attempts.expectRefused(entry, all)
  })

  test('names the fault in its query', async () => {
    const query = Object.entries((entry.query as Schema | undefined)?.properties ?? {})
    const all = [
      invalid('unknown', { query: '?surplus=1' }, 'query/surplus'),
      invalid('unknown and poisoned', { query: '?__proto__=1' }, 'query/__proto__'),
      ...query.flatMap(([name, { type, minLength, minimum = 0, maximum = 0 }]) => {
        const wrong =
          type === 'integer'
            ? [...otherNumbers, minimum - 1, maximum + 1]
            : ['', ...(isText(minLength) ? ['a'.repeat(5000)] : malformedIds.slice(0, -1))]
        const right = type === 'integer' ? minimum : unknownId
        return [
          ...rowsAt(place, 5, wrong).map((value) =>
            invalid(`${name}=${value}`, { query: `?${name}=${value}` }, `query/${name}`),
          ),
          invalid(`${name} twice`, { query: `?${name}=${right}&${name}=${right}` }, `query/${name}`),
          invalid(`${name} as a list`, { query: `?${name}[]=${right}` }, `query/${name}[]`),
        ]
      }),
    ]
    await attempts.expectRefused(entry, all)
  })

  test('refuses every method that its path does not have', async () => {
    const allowed = endpoints.filter(({ path }) => path === entry.path).map(({ method }) => method as string)
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'].filter(
      (method) => !allowed.includes(method),
    )
    for (const method of rowsAt(place, 5, others)) {
      const reply = await send(entry, { ...attempts.ready(entry), method })
      expectRefusal(reply, 'method_not_allowed', method)
      expect(reply.headers.allow).toBe([...new Set(allowed)].join(', '))
    }
    const head = await send(entry, { ...attempts.ready(entry), method: 'HEAD', body: undefined })
    expect([head.status, head.headers.allow, head.text]).toEqual([405, [...new Set(allowed)].join(', '), ''])
  })

  test('is found at its path and at no similar one', async () => {
    const path = targetOf(entry, attempts.ready(entry)).split('?', 1)[0] ?? ''
    const [first = '', ...rest] = path.slice(1).split('/')
    const near = [
      `${path}/`,
      `${path}/.`,
      `/${path}`,
      `/x/..${path}`,
      `/.${path}`,
      `/${first.toUpperCase()}/${rest.join('/')}`,
      `/%61${path.slice(2)}`,
      `${path}%00`,
      `${path}%2F`,
      `${path}%zz`,
      `${path};a=1`,
      `${path}//`,
      `${path}\\`,
      `http://elsewhere.example${path}`,
      `//elsewhere.example${path}`,
    ]
    const all = rowsAt(place, 7, near).map(
      (target): Attempt => ({
        what: target,
        ready: { ...attempts.ready(entry), target },
        code: 'not_found',
      }),
    )
    await attempts.expectRefused(entry, all)
  })
})

describe('an unknown path', () => {
  const health = endpoints.find(({ id }) => id === 'health.get') as (typeof endpoints)[number]
  const paths = [
    ...['/api', '/api/v1', '/api/v2/messages', '/favicon.ico', '/api/admin/project/x'],
    ...['*', '/%zz', 'http://x/#', 'http://x:99999/'],
  ]

  test.each(paths)('%s is not found, whatever the rest of the request', async (target) => {
    const by = attempts.world.bridge
    const long = 'a'.repeat(limits.jsonBodyBytes + 1)
    const all: Attempt[] = [
      { what: 'GET', ready: { by, target }, code: 'not_found' },
      { what: 'POST', ready: { by, target, method: 'POST', body: {} }, code: 'not_found' },
      { what: 'too long', ready: { by, target, method: 'POST', body: long }, code: 'not_found' },
      {
        what: 'no content type',
        ready: { by, target, method: 'POST', body: '{', override: { 'Content-Type': 'json' } },
        code: 'not_found',
      },
    ]
    await attempts.expectRefused(health, all)
  })

  test('reveals nothing', async () => {
    const reply = await send(health, { by: attempts.world.bridge, target: '/api/v1/nobody' })
    expect(reply.json).toEqual({
      error: 'not_found',
      message: errors.not_found.meaning,
      request_id: reply.headers['x-request-id'],
    })
  })
})
