/**
 * One request on the wire is at most one request in the application.
 *
 * The bytes are sent on a raw socket, because no HTTP client would send them. The parser answers an invalid
 * request with 400 (431 for a header block that is too long) and closes the connection. The application
 * answers all others with its own codes.
 *
 * Contract §2 "framing", reliability §2.5, T37, T39.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { get, head, parsable, post, smuggled, unparsable } from '../../support/framing-cases.ts'
import { exchange, requestText } from '../../support/raw-client.ts'
import type { RawReply } from '../../support/raw-replies.ts'
import { expectSame, stored } from '../../support/stored.ts'
import { startWorld, type World } from '../endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

const told = ({ status, body }: RawReply) =>
  body === ''
    ? String(status)
    : `${status} ${(JSON.parse(body) as { error?: string; status?: string }).error ?? 'done'}`

/** Expects unchanged tables and a live server. */
async function expectNothing(send: () => Promise<void>): Promise<void> {
  const before = stored(world.bridge.data)
  await send()
  expectSame([stored(world.bridge.data)], [before])
  expect((await exchange(world.bridge.url, get())).map(told)).toEqual(['200 done'])
}

describe('the parser refuses', () => {
  test.each(Object.keys(unparsable))('%s', async (name) => {
    await expectNothing(async () => {
      const replies = await exchange(world.bridge.url, unparsable[name] ?? '', { end: true })
      expect(replies.map(told)).toEqual(['400'])
      expect(replies[0]?.headers.connection).toBe('close')
    })
  })

  test('a header block of more than 16 KiB', async () => {
    const replies = await exchange(world.bridge.url, get(`A: ${'a'.repeat(17_000)}\r\n`), { end: true })
    expect(replies.map(told)).toEqual(['431'])
  })

  test('a target of more than 16 KiB', async () => {
    const replies = await exchange(world.bridge.url, get('', `/api/health?${'a'.repeat(17_000)}`), {
      end: true,
    })
    expect(replies.map(told)).toEqual(['431'])
  })

  test('CONNECT, by closing without an answer', async () => {
    const connect = `CONNECT elsewhere.example:443 HTTP/1.1\r\n${head}\r\n`
    expect(await exchange(world.bridge.url, connect)).toEqual([])
  })
})

describe('the application answers', () => {
  test.each(Object.keys(parsable))('%s', async (name) => {
    const [bytes = '', ...expected] = parsable[name] ?? []
    await expectNothing(async () => {
      const replies = await exchange(world.bridge.url, bytes)
      expect(replies.map(told)).toEqual(expected)
    })
  })

  test('a twin header with an underscore as a different header', async () => {
    const { ada } = world.bridge
    const headers = ada.sign({ target: '/api/v1/peers', session: null }, '')
    const twin = [...headers, ['X_Bridge_Session', ada.session?.id ?? ''] as const]
    const replies = await exchange(world.bridge.url, requestText({ target: '/api/v1/peers', headers: twin }))
    expect(replies.map(told)).toEqual(['422 invalid_request'])
  })
})

describe('a body that ends early', () => {
  const claim = '{"code":"AAAAAAAAAAAAAAAAAAAAAAAA"}'

  test('before its declared length is ignored', async () => {
    await expectNothing(async () => {
      const replies = await exchange(world.bridge.url, post('Content-Length: 100\r\n', claim), {
        end: true,
      })
      expect(replies.map(told)).toEqual(['400'])
    })
  })

  test('in the middle of its chunks is ignored', async () => {
    await expectNothing(async () => {
      const bytes = post('Transfer-Encoding: chunked\r\n', `${claim.length.toString(16)}\r\n${claim}\r\n`)
      expect((await exchange(world.bridge.url, bytes, { end: true })).map(told)).toEqual(['400'])
    })
  })

  test('of a signed request is ignored, and its nonce is not spent', async () => {
    const { ada, ben, url } = world.bridge
    const body = JSON.stringify({ recipient_agent_id: ben.id })
    const call = { method: 'POST', target: '/api/v1/conversations', body }
    const headers = ada.sign(call, body)
    const cut = requestText({ ...call, headers: [...headers, ['Content-Length', '1000']] })
    await expectNothing(async () => {
      expect((await exchange(url, cut, { end: true })).map(told)).toEqual(['400'])
    })
    expect((await exchange(url, requestText({ ...call, headers }))).map(told)).toEqual(['200 done'])
  })

  test('is refused before any byte of it if its declared length is too long', async () => {
    const replies = await exchange(world.bridge.url, post('Content-Length: 262145\r\n'))
    expect(replies.map(told)).toEqual(['413 body_too_large'])
  })

  test('is not waited for if the identity is unknown', async () => {
    const headers = [
      ['Authorization', 'AgentKey 01890000-0000-7000-8000-000000000000'],
      ['X-Bridge-Session', '01890000-0000-7000-8000-000000000000'],
      ['Idempotency-Key', 'a'.repeat(8)],
      ['Content-Length', '1000'],
    ] as const
    const bytes = requestText({ method: 'POST', target: '/api/v1/messages', headers })
    expect((await exchange(world.bridge.url, bytes)).map(told)).toEqual(['401 credential_unknown'])
  })
})

describe('a client that sends Expect: 100-continue', () => {
  const expecting = (call: { readonly headers: readonly (readonly [string, string])[] }) => {
    const { ben } = world.bridge
    const body = JSON.stringify({ recipient_agent_id: ben.id })
    const headers = [...call.headers, ['Expect', '100-continue'] as const]
    return requestText({ method: 'POST', target: '/api/v1/conversations', headers, body })
  }
  const signed = () => {
    const { ada, ben } = world.bridge
    const body = { recipient_agent_id: ben.id }
    const call = { method: 'POST', target: '/api/v1/conversations', body }
    return ada.sign(call, JSON.stringify(body))
  }

  test('gets 100 if its identity may be valid', async () => {
    const replies = await exchange(world.bridge.url, expecting({ headers: signed() }))
    expect(replies.map(told)).toEqual(['100', '200 done'])
  })

  test('is refused immediately otherwise', async () => {
    const headers = signed().filter(([name]) => name !== 'Authorization')
    const replies = await exchange(world.bridge.url, expecting({ headers }))
    expect(replies.map(told)).toEqual(['401 unauthenticated'])
  })
})

describe('pipelined requests', () => {
  const open = (target: string) => requestText({ target, headers: [['Connection', 'keep-alive']] })

  test('are answered in order, each separately', async () => {
    const { ada, url } = world.bridge
    const headers = [...ada.sign({ target: '/api/v1/peers' }, ''), ['Connection', 'keep-alive'] as const]
    const bytes = [
      requestText({ target: '/api/v1/peers', headers }),
      open('/api/v1/peers'),
      requestText({ target: '/api/health' }),
    ]
    const replies = await exchange(url, bytes.join(''))
    expect(replies.map(told)).toEqual(['200 done', '401 unauthenticated', '200 done'])
  })

  test('are ignored after one that closes the connection', async () => {
    const replies = await exchange(world.bridge.url, get() + open('/api/ready'))
    // Node answers neither request: the bytes after a closing request make the whole input suspect.
    expect(replies.map(told)).toEqual(['400'])
  })

  test('end at one whose body is longer than declared', async () => {
    await expectNothing(async () => {
      const bytes = post('Content-Length: 2\r\n', `{}${smuggled}`).replace(
        'Connection: close',
        'Connection: keep-alive',
      )
      const replies = await exchange(world.bridge.url, `${bytes}${get()}`)
      expect(replies.map(told)).toEqual(['422 invalid_request', '200 done', '200 done'])
    })
  })
})
