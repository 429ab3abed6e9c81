/**
 * Every request is answered within 6 s, whatever follows its headers: methods, routes and modes against
 * bodies that are missing, wrong, endless, slow, or another request. A part that is being received has the
 * least pace of a body instead. Spec §4.5, Rejected requests.
 */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startWith, type TestHelper } from './test-helper.ts'

const answerMs = 6000
/** A busy machine may stand still for seconds, so an answer that is late gets another try. */
const tries = 3
const bytes = randomBytes(2500)
const part = bytes.subarray(0, 1000).toString('latin1')
const methods = ['GET', 'PUT', 'POST', 'DELETE']
const targets = ['/v1/status', '/v1/file', '/v1/parts/0', '/v1/finalize']

interface Rest {
  readonly headers?: readonly string[]
  /** Sent immediately after the headers. */
  readonly body?: string
  /** Sent repeatedly, one byte per 100 ms, until the connection ends. */
  readonly trickle?: string
  /** The client closes its sending side after these bytes. */
  readonly isHalfClosed?: true
  /** The headers are those of a part, and its bytes may still come. */
  readonly isPartToCome?: true
}

const rests: Readonly<Record<string, Rest>> = {
  'no length, no body': {},
  'no length, a body': { body: part },
  'no length, a line': { body: 'x\r\n' },
  'no length, a body that trickles': { trickle: 'x' },
  'no length, another request': { body: 'GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n' },
  'no length, half of another request': { body: 'GET /v1/status HTTP/1.1\r\nHost: x\r\n' },
  'no length, a body, half closed': { body: part, isHalfClosed: true },
  'no length, half closed': { isHalfClosed: true },
  'a wrong length': { headers: ['Content-Length: x'], body: part },
  'a negative length': { headers: ['Content-Length: -1'], body: part },
  'two lengths': { headers: ['Content-Length: 1000', 'Content-Length: 1000'], body: part },
  'a length of 0, a body': { headers: ['Content-Length: 0'], body: part },
  'a length, no body': { headers: ['Content-Length: 1000'], isPartToCome: true },
  'a length, half of the body': {
    headers: ['Content-Length: 1000'],
    body: part.slice(500),
    isPartToCome: true,
  },
  'a length, half of the body, half closed': {
    headers: ['Content-Length: 1000'],
    body: part.slice(500),
    isHalfClosed: true,
  },
  'a length, a body that trickles': {
    headers: ['Content-Length: 1000'],
    trickle: 'x',
    isPartToCome: true,
  },
  'a length, the body and more': { headers: ['Content-Length: 1000'], body: `${part}more` },
  'a length, the body and another request': {
    headers: ['Content-Length: 1000'],
    body: `${part}GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n`,
  },
  'a length beyond every part': { headers: ['Content-Length: 100663297'], trickle: 'x' },
  'an expectation, no body': {
    headers: ['Content-Length: 1000', 'Expect: 100-continue'],
    isPartToCome: true,
  },
  chunked: { headers: ['Transfer-Encoding: chunked'], body: '1\r\nx\r\n0\r\n\r\n' },
  'chunked without an end': { headers: ['Transfer-Encoding: chunked'], body: '1\r\nx\r\n' },
  'chunked without a beginning': { headers: ['Transfer-Encoding: chunked'] },
  'malformed chunks': { headers: ['Transfer-Encoding: chunked'], body: 'what\r\n' },
  'chunks that trickle': { headers: ['Transfer-Encoding: chunked'], trickle: '1\r\nx\r\n' },
  'chunked, with a length': { headers: ['Transfer-Encoding: chunked', 'Content-Length: 3'], body: 'abc' },
}

/**
 * A helper closes a fifth connection without an answer and notices the end of one late, so each helper gets
 * only two at a time.
 */
const perHelper = 2
const helpers: TestHelper[] = []
beforeAll(async () => {
  for (const mode of ['upload', 'download'] as const)
    for (let each = 0; each < 8; each += 1) helpers.push(await startWith(bytes, { mode }))
})
afterAll(async () => {
  for (const helper of helpers) await helper.close()
})

interface Asked {
  readonly method: string
  readonly target: string
  readonly words: string
  readonly rest: Rest
}

const asked: readonly Asked[] = Object.entries(rests).flatMap(([words, rest]) =>
  methods.flatMap((method) => targets.map((target) => ({ words, rest, method, target }))),
)
const isPartToCome = ({ method, target, rest }: Asked): boolean =>
  method === 'PUT' && target === '/v1/parts/0' && rest.isPartToCome === true

/** Returns the first event: the status of an answer, `closed`, or `nothing`. */
async function firstWord(
  helper: TestHelper,
  { method, target, rest }: Asked,
  withinMs = answerMs,
): Promise<string> {
  const socket = connect({ port: helper.port, host: '127.0.0.1', allowHalfOpen: true })
  const head = [
    `${method} ${target} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${helper.token}`,
    ...(rest.headers ?? []),
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${rest.body ?? ''}`, 'latin1')
  if (rest.isHalfClosed) socket.end()
  const stop = new AbortController()
  void trickle(socket, rest.trickle ?? '', stop.signal)
  try {
    return await Promise.race([said(socket), pause(withinMs, 'nothing', { signal: stop.signal })])
  } finally {
    stop.abort()
    socket.destroy()
  }
}

async function trickle(socket: Socket, text: string, signal: AbortSignal): Promise<void> {
  for (let at = 0; text !== '' && !signal.aborted && socket.writable; at += 1) {
    socket.write(text[at % text.length] ?? '')
    await pause(100)
  }
}

const said = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const status = /HTTP\/1\.1 ([2-5]\d\d)/.exec(text)?.[1]
      if (status !== undefined) resolve(status)
    })
    socket.on('error', () => resolve('closed')).on('end', () => resolve('closed'))
  })

test('every request is answered; a download may be closed instead if its client closed its sending side', async () => {
  const unanswered: string[] = []
  const queues = (['upload', 'download'] as const).map((mode) => ({
    mode,
    left: asked.filter((one) => mode === 'download' || !isPartToCome(one)),
  }))
  const worker = async (helper: TestHelper) => {
    const { mode } = helper.manifest
    const queue = queues.find((each) => each.mode === mode)?.left ?? []
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const { method, target, words, rest } = one
      let heard = 'nothing'
      for (let n = 0; n < tries && heard === 'nothing'; n += 1) heard = await firstWord(helper, one)
      const isCutShort = heard === 'closed' && mode === 'download' && method === 'GET' && rest.isHalfClosed
      if (!/^\d+$/.test(heard) && !isCutShort)
        unanswered.push(`${mode}: ${method} ${target}, ${words}: ${heard}`)
    }
  }
  await Promise.all(helpers.flatMap((helper) => Array.from({ length: perHelper }, () => worker(helper))))
  expect(unanswered).toEqual([])
})

test('a part whose bytes do not come is refused by the least pace of a body', async () => {
  const pace = { progressBytes: 64 * 1024, progressMs: 200 }
  const helper = await startWith(bytes, { mode: 'upload', pace })
  onTestFinished(() => helper.close())
  const heard: [string, string][] = []
  for (const one of asked.filter(isPartToCome)) heard.push([one.words, await firstWord(helper, one, 60_000)])
  expect(heard).toEqual([
    ['a length, no body', '408'],
    ['a length, half of the body', '408'],
    ['a length, a body that trickles', '408'],
    ['an expectation, no body', '408'],
  ])
})

test('bytes after a refused request close its connection once the answer was sent', async () => {
  const [helper] = helpers
  const socket = connect({ port: helper?.port ?? 0, host: '127.0.0.1', allowHalfOpen: true })
  socket.write(`PUT /v1/parts/0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${helper?.token}\r\n\r\n${part}`)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  socket.destroy()
  const text = Buffer.concat(chunks).toString('latin1')
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 411'])
  expect(text).toContain('{"error":"length_required"}')
})
