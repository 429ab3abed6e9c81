/**
 * Every refusal before a route is chosen: byte by byte, over raw sockets, to one helper of each mode. Spec
 * §4.5.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gate } from '../../helper/gate.ts'
import { routes } from '../../helper/routes.ts'
import { helperErrors } from '../../sdk/contract/helper/errors.ts'
import { exchange, request } from './calls.ts'
import { type Case, cases } from './gate-cases.ts'
import { startWith, type TestHelper } from './test-helper.ts'

let down: TestHelper
let up: TestHelper

beforeAll(async () => {
  const bytes = randomBytes(2500)
  down = await startWith(bytes, { mode: 'download' })
  up = await startWith(bytes, { mode: 'upload' })
})
afterAll(async () => {
  await down.close()
  await up.close()
})

describe('a request is refused with its code and nothing else', () => {
  test.each(cases.map((each) => ({ each, name: each[0] })))('$name', async ({ each }: { each: Case }) => {
    const [, lines, expected, error, body = ''] = each
    const text = `${lines.join('\r\n')}\r\n\r\n${body}`
      .replaceAll('T\r\n', `${down.token}\r\n`)
      .replaceAll('T, Bearer', `${down.token}, Bearer`)
      .replaceAll('Bearer Tx', `Bearer ${down.token}x`)
    const answer = await exchange(down.port, text, { untilClosed: expected === 405 })
    expect([answer.status, answer.error ?? '']).toEqual([expected, error])
    expect(answer.text.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.text).not.toContain(down.token)
  })
})

test('every rule of the gate is named, quotes its sentence and is tested above', () => {
  const tried = new Set(cases.map(([, , , error]) => error))
  for (const { name, sentence, code } of gate) {
    expect([name, sentence]).toEqual([expect.stringMatching(/^[a-z-]+$/), expect.stringMatching(/ /)])
    expect(tried).toContain(code)
  }
  expect(new Set(gate.map(({ name }) => name)).size).toBe(gate.length)
})

test('a 405 names the methods of the path', async () => {
  const answer = await down.ask({ method: 'DELETE', target: '/v1/parts/0' })
  expect(answer.headers.allow).toBe('GET, PUT')
  expect(routes).toHaveLength(5)
})

test('CONNECT is closed without an answer', async () => {
  const { text } = await exchange(down.port, 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(text).toBe('')
})

test('bare line feeds are not accepted as line ends', async () => {
  const { status } = await exchange(
    down.port,
    `GET /v1/status HTTP/1.1\nHost: x\nAuthorization: Bearer ${down.token}\n\n`,
  )
  expect(status).toBe(400)
})

test('pipelined requests are answered in order, each by its own token', async () => {
  const good = request({ target: '/v1/status', token: down.token }).toString('latin1')
  const bad = request({
    target: '/v1/status',
    token: 'x'.repeat(43),
    headers: ['Connection: close'],
  }).toString('latin1')
  const { text } = await exchange(down.port, good + good + bad, { untilClosed: true })
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 401'])
})

test('data after Connection: close is not answered', async () => {
  const good = request({ target: '/v1/status', token: down.token, headers: ['Connection: close'] }).toString(
    'latin1',
  )
  const { text } = await exchange(down.port, good + good, { untilClosed: true })
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
})

test('any Host is allowed, because a tunnel has one, and no answer has CORS headers', async () => {
  const { status, text } = await exchange(
    down.port,
    `GET /v1/status HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ${down.token}\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n`,
  )
  expect(status).toBe(200)
  expect(text).not.toMatch(/access-control/i)
})

describe('an upload must state its length', () => {
  const put = (lines: readonly string[], body = '') =>
    exchange(
      up.port,
      `PUT /v1/parts/0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${up.token}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`,
    )

  test.each([
    ['none', [], '', 411, 'length_required'],
    ['one byte less', ['Content-Length: 999'], 'a'.repeat(999), 422, 'length_mismatch'],
    ['one byte more', ['Content-Length: 1001'], 'a'.repeat(1001), 422, 'length_mismatch'],
    ['nothing', ['Content-Length: 0'], '', 422, 'length_mismatch'],
    ['more than the largest part', ['Content-Length: 100663297'], '', 413, 'part_too_large'],
  ] as const)('%s', async (_name, lines, body, status, error) => {
    const answer = await put(lines, body)
    expect([answer.status, answer.error]).toEqual([status, error])
  })

  test('an upload gets 100 Continue only if its head has no fault', async () => {
    const part = up.bytes.subarray(0, 1000)
    const socket = connect(up.port, '127.0.0.1')
    socket.write(
      request({
        method: 'PUT',
        target: '/v1/parts/0',
        token: up.token,
        headers: ['Content-Length: 1000', 'Expect: 100-continue'],
      }),
    )
    const [first] = (await once(socket, 'data')) as [Buffer]
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write(part)
    const [second] = (await once(socket, 'data')) as [Buffer]
    expect(second.toString()).toMatch(/^HTTP\/1\.1 200/)
    socket.destroy()
    const refused = await exchange(
      up.port,
      request({
        method: 'PUT',
        target: '/v1/parts/9',
        token: up.token,
        headers: ['Content-Length: 1000', 'Expect: 100-continue'],
      }),
    )
    expect([refused.text.includes('100 Continue'), refused.status]).toEqual([false, 404])
  })

  test('finalize accepts no body', async () => {
    const answer = await up.ask({ method: 'POST', target: '/v1/finalize', body: Buffer.from('{}') })
    expect([answer.status, answer.error]).toEqual([400, 'body_refused'])
  })
})

test.each([
  ['GET', '/v1/file', 'upload'],
  ['GET', '/v1/parts/0', 'upload'],
  ['PUT', '/v1/parts/0', 'download'],
  ['POST', '/v1/finalize', 'download'],
] as const)('%s %s is refused in %s mode', async (method, target, mode) => {
  const answer = await (mode === 'upload' ? up : down).ask({ method, target, body: Buffer.alloc(0) })
  expect([answer.status, answer.error]).toEqual([409, 'wrong_mode'])
})

test('a client that sends a large body still receives its refusal', async () => {
  const body = randomBytes(8 * 1024 * 1024)
  const answer = await exchange(
    up.port,
    request({ method: 'PUT', target: '/v1/parts/7', token: up.token, body }),
  )
  expect([answer.status, answer.error]).toEqual([404, 'not_found'])
})

test('each code has a fixed status', () => {
  expect(
    Object.entries(helperErrors).map(([code, { status }]) => `${status} ${code}`),
  ).toMatchInlineSnapshot(`
    [
      "400 bad_request",
      "400 bad_target",
      "400 browser_request",
      "400 duplicate_header",
      "400 encoding_refused",
      "400 range_refused",
      "400 upgrade_refused",
      "400 body_refused",
      "401 invalid_token",
      "404 not_found",
      "405 method_not_allowed",
      "408 too_slow",
      "409 transfer_busy",
      "409 wrong_mode",
      "409 part_conflict",
      "409 parts_missing",
      "409 destination_exists",
      "409 file_changed",
      "409 unsafe_file",
      "410 expired",
      "411 length_required",
      "413 part_too_large",
      "413 insufficient_space",
      "417 expectation_refused",
      "422 length_mismatch",
      "422 hash_mismatch",
      "431 headers_too_large",
      "500 internal",
      "503 storage_failed",
    ]
  `)
})
