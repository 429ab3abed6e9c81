/**
 * One request on the wire is one request in the application, or none.
 *
 * Bytes on a raw socket, since no HTTP client would send them. What the parser refuses is answered 400 (431 for a header
 * block that is too long) and the connection is closed; what reaches the application is answered by its own codes.
 *
 * Design: reliability §2.5, T37, T39; contract §2 "framing".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startWorld, type World } from '../endpoints/world.ts'
import { overSocket, type RawReply, requestText } from './raw-socket.ts'
import { stored } from './stored.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

const head = 'Host: bridge.test\r\nConnection: close\r\n'
const get = (lines = '', target = '/api/health', version = 'HTTP/1.1') =>
  `GET ${target} ${version}\r\n${head}${lines}\r\n`
const post = (lines: string, body = '') =>
  `POST /api/v1/enrollments/claim HTTP/1.1\r\n${head}Content-Type: application/json\r\n${lines}\r\n${body}`
const smuggled = 'GET /api/ready HTTP/1.1\r\nHost: bridge.test\r\n\r\n'

const told = ({ status, body }: RawReply) =>
  body === ''
    ? String(status)
    : `${status} ${(JSON.parse(body) as { error?: string; status?: string }).error ?? 'done'}`

/** Every table as it was, and the server alive. */
async function expectNothing(send: () => Promise<void>): Promise<void> {
  const before = stored(world.bridge.data)
  await send()
  expect(stored(world.bridge.data)).toEqual(before)
  expect((await overSocket(world.bridge.url, get())).map(told)).toEqual(['200 done'])
}

/** Refused by the parser: one status line, no second response, the connection closed. */
const unparsable: Record<string, string | Buffer> = {
  'a length and chunks': post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`),
  'chunks and a length': post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${smuggled}`),
  'two lengths that differ': post('Content-Length: 2\r\nContent-Length: 3\r\n', '{} '),
  'two lengths that agree': post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
  'a list of lengths': post('Content-Length: 2, 2\r\n', '{}'),
  'a length with a plus': post('Content-Length: +2\r\n', '{}'),
  'a length below nothing': post('Content-Length: -2\r\n', '{}'),
  'a length in hexadecimal': post('Content-Length: 0x2\r\n', '{}'),
  'a length of two words': post('Content-Length: 2 2\r\n', '{}'),
  'a length beyond numbers': post('Content-Length: 18446744073709551616\r\n', '{}'),
  'chunks that are not last': post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
  'an encoding that is none': post('Transfer-Encoding: identity\r\n', '{}'),
  'an unknown encoding': post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
  'chunks twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'a space before the colon': post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'),
  'a folded encoding': post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'),
  'a chunk size in C': post('Transfer-Encoding: chunked\r\n', '0x2\r\n{}\r\n0\r\n\r\n'),
  'a chunk size with a sign': post('Transfer-Encoding: chunked\r\n', '+2\r\n{}\r\n0\r\n\r\n'),
  'a chunk without its end': post('Transfer-Encoding: chunked\r\n', '2\r\n{}0\r\n\r\n'),
  'a line feed alone in a chunk': post('Transfer-Encoding: chunked\r\n', '2\n{}\r\n0\r\n\r\n'),
  'line feeds alone': get().replaceAll('\r\n', '\n'),
  'a carriage return alone': get('A: b\rC: d\r\n'),
  'a NUL in a header': get('A: b\0c\r\n'),
  'a space in a header name': get('A b: c\r\n'),
  'a header without a name': get(': c\r\n'),
  'a line before the headers': `GET /api/health HTTP/1.1\r\n X: y\r\n${head}\r\n`,
  'a folded header': get('A: b\r\n c\r\n'),
  'tabs between the words': get().replace('GET /api/health HTTP', 'GET\t/api/health\tHTTP'),
  'bytes beyond ASCII in the target': get('', '/api/héalth'),
  'a space in the target': get('', '/api/health x'),
  'a method in lower case': get().replace('GET', 'get'),
  'a method of nobody': get().replace('GET', 'FETCH'),
  'HTTP/1.2': get('', '/api/health', 'HTTP/1.2'),
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a TLS hello': Buffer.from('16030100710100006d0303', 'hex'),
  'no protocol at all': 'hello\r\n\r\n',
}

describe('the parser refuses', () => {
  test.each(Object.keys(unparsable))('%s', async (name) => {
    await expectNothing(async () => {
      const replies = await overSocket(world.bridge.url, unparsable[name] ?? '', { end: true })
      expect(replies.map(told)).toEqual(['400'])
      expect(replies[0]?.headers.connection).toBe('close')
    })
  })

  test('a header block of more than 16 KiB', async () => {
    const replies = await overSocket(world.bridge.url, get(`A: ${'a'.repeat(17_000)}\r\n`), { end: true })
    expect(replies.map(told)).toEqual(['431'])
  })

  test('a target of more than 16 KiB', async () => {
    const replies = await overSocket(world.bridge.url, get('', `/api/health?${'a'.repeat(17_000)}`), {
      end: true,
    })
    expect(replies.map(told)).toEqual(['431'])
  })

  test('CONNECT, without a word', async () => {
    const connect = `CONNECT elsewhere.example:443 HTTP/1.1\r\n${head}\r\n`
    expect(await overSocket(world.bridge.url, connect)).toEqual([])
  })
})

/** Refused or served by the application. */
const parsable: Record<string, readonly [bytes: string, ...told: string[]]> = {
  'HTTP/2 by name': [get('', '/api/health', 'HTTP/2.0'), '422 invalid_request'],
  'HTTP/1.0': [get('', '/api/health', 'HTTP/1.0'), '422 invalid_request'],
  'chunks over HTTP/1.0': [
    post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
    '422 invalid_request',
  ],
  'two Hosts': [get('Host: elsewhere.example\r\n'), '422 invalid_request'],
  'two Content-Types': [
    post('Content-Type: text/plain\r\nContent-Length: 2\r\n', '{}'),
    '422 invalid_request',
  ],
  'two Expects': [get('Expect: 100-continue\r\nExpect: 100-continue\r\n'), '422 invalid_request'],
  'more than 64 headers': [get('A: b\r\n'.repeat(63)), '422 invalid_request'],
  '64 headers': [get('A: b\r\n'.repeat(62)), '200 done'],
  '1,500 headers': [get('A:b\r\n'.repeat(1500)), '422 invalid_request'],
  'a GET with a body': [get('Content-Length: 2\r\n').concat('{}'), '422 invalid_request'],
  'a GET with chunks': [
    get('Transfer-Encoding: chunked\r\n').concat('2\r\n{}\r\n0\r\n\r\n'),
    '422 invalid_request',
  ],
  'a GET of no length': [get('Content-Length: 0\r\n'), '200 done'],
  'a whole URL as target': [get('', 'http://bridge.test/api/health'), '404 not_found'],
  'a fragment': [get('', '/api/health#top'), '404 not_found'],
  'a target without a slash': [get('', 'api/health'), '400'],
  'OPTIONS of everything': [get('', '*').replace('GET', 'OPTIONS'), '404 not_found'],
  'a path out of the root': [get('', '/../api/health'), '404 not_found'],
  'a path out of the root, encoded': [get('', '/%2e%2e/api/health'), '404 not_found'],
  'a NUL in the path, encoded': [get('', '/api/health%00'), '404 not_found'],
  'a backslash': [get('', '/api\\health'), '404 not_found'],
  'an upgrade that nobody offers': [get('Upgrade: websocket\r\n'), '200 done'],
  'an upgrade to HTTP/2': [get('Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'), '200 done'],
  'no Host': ['GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n', '422 invalid_request'],
  'an expectation that nobody has': [
    post('Expect: everything\r\nContent-Length: 2\r\n', '{}'),
    '422 invalid_request',
  ],
  'an expectation beside the known one': [
    post('Expect: 100-continue, everything\r\nContent-Length: 2\r\n', '{}'),
    '422 invalid_request',
  ],
  'a range': [get('Range: bytes=0-1\r\n'), '200 done'],
  'a compressed body': [post('Content-Encoding: gzip\r\nContent-Length: 2\r\n', '{}'), '422 invalid_request'],
  'chunks with extensions': [
    post('Transfer-Encoding: chunked\r\n', '2;a=b\r\n{}\r\n0\r\n\r\n'),
    '422 invalid_request',
  ],
  'a length in the trailer': [
    post(
      'Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n',
      '2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n',
    ),
    '400',
  ],
}

describe('the application answers', () => {
  test.each(Object.keys(parsable))('%s', async (name) => {
    const [bytes = '', ...expected] = parsable[name] ?? []
    await expectNothing(async () => {
      const replies = await overSocket(world.bridge.url, bytes)
      expect(replies.map(told)).toEqual(expected)
    })
  })

  test('an underscore twin as another header', async () => {
    const { ada } = world.bridge
    const headers = ada.sign({ target: '/api/v1/peers', session: null }, '')
    const twin = [...headers, ['X_Bridge_Session', ada.session?.id ?? ''] as const]
    const replies = await overSocket(
      world.bridge.url,
      requestText({ target: '/api/v1/peers', headers: twin }),
    )
    expect(replies.map(told)).toEqual(['422 invalid_request'])
  })
})

describe('a body that ends early', () => {
  const claim = '{"code":"AAAAAAAAAAAAAAAAAAAAAAAA"}'

  test('by its length is nothing', async () => {
    await expectNothing(async () => {
      const replies = await overSocket(world.bridge.url, post('Content-Length: 100\r\n', claim), {
        end: true,
      })
      expect(replies.map(told)).toEqual(['400'])
    })
  })

  test('in the middle of its chunks is nothing', async () => {
    await expectNothing(async () => {
      const bytes = post('Transfer-Encoding: chunked\r\n', `${claim.length.toString(16)}\r\n${claim}\r\n`)
      expect((await overSocket(world.bridge.url, bytes, { end: true })).map(told)).toEqual(['400'])
    })
  })

  test('of a signed request is nothing, and its nonce is not spent', async () => {
    const { ada, ben, url } = world.bridge
    const body = JSON.stringify({ recipient_agent_id: ben.id })
    const call = { method: 'POST', target: '/api/v1/conversations', body }
    const headers = ada.sign(call, body)
    const cut = requestText({ ...call, headers: [...headers, ['Content-Length', '1000']] })
    await expectNothing(async () => {
      expect((await overSocket(url, cut, { end: true })).map(told)).toEqual(['400'])
    })
    expect((await overSocket(url, requestText({ ...call, headers }))).map(told)).toEqual(['200 done'])
  })

  test('is refused at once where its length is too long, before a byte of it', async () => {
    const replies = await overSocket(world.bridge.url, post('Content-Length: 262145\r\n'))
    expect(replies.map(told)).toEqual(['413 body_too_large'])
  })

  test('is not waited for where the identity is unknown', async () => {
    const headers = [
      ['Authorization', 'AgentKey 01890000-0000-7000-8000-000000000000'],
      ['X-Bridge-Session', '01890000-0000-7000-8000-000000000000'],
      ['Idempotency-Key', 'a'.repeat(8)],
      ['Content-Length', '1000'],
    ] as const
    const bytes = requestText({ method: 'POST', target: '/api/v1/messages', headers })
    expect((await overSocket(world.bridge.url, bytes)).map(told)).toEqual(['401 credential_unknown'])
  })
})

describe('a client that asks before it sends', () => {
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

  test('is told to go on when its identity may be heard', async () => {
    const replies = await overSocket(world.bridge.url, expecting({ headers: signed() }))
    expect(replies.map(told)).toEqual(['100', '200 done'])
  })

  test('is refused at once when it may not', async () => {
    const headers = signed().filter(([name]) => name !== 'Authorization')
    const replies = await overSocket(world.bridge.url, expecting({ headers }))
    expect(replies.map(told)).toEqual(['401 unauthenticated'])
  })
})

describe('requests in a row', () => {
  const open = (target: string) => requestText({ target, headers: [['Connection', 'keep-alive']] })

  test('are answered in their order, each for itself', async () => {
    const { ada, url } = world.bridge
    const headers = [...ada.sign({ target: '/api/v1/peers' }, ''), ['Connection', 'keep-alive'] as const]
    const bytes = [
      requestText({ target: '/api/v1/peers', headers }),
      open('/api/v1/peers'),
      requestText({ target: '/api/health' }),
    ]
    const replies = await overSocket(url, bytes.join(''))
    expect(replies.map(told)).toEqual(['200 done', '401 unauthenticated', '200 done'])
  })

  test('do not follow one that closes the connection', async () => {
    const replies = await overSocket(world.bridge.url, get() + open('/api/ready'))
    // Node answers neither: what follows a closing request makes all of it suspect.
    expect(replies.map(told)).toEqual(['400'])
  })

  test('end where one has more body than it says', async () => {
    await expectNothing(async () => {
      const bytes = post('Content-Length: 2\r\n', `{}${smuggled}`).replace(
        'Connection: close',
        'Connection: keep-alive',
      )
      const replies = await overSocket(world.bridge.url, `${bytes}${get()}`)
      expect(replies.map(told)).toEqual(['422 invalid_request', '200 done', '200 done'])
    })
  })
})
