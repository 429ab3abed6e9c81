/**
 * The program itself: options, token, readiness line, fixed codes, expiry, signals. Spec §2, §4.5, §5, §7,
 * §8.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type RunningHelper, readOptions, startErrorOf, startHelper } from '../../helper/main.ts'
import { Transfer } from '../../helper/transfer.ts'
import { exchange, request } from './calls.ts'
import { freshToken, manifestOf, Place, partOf } from './files.ts'
import { type HelperProcess, spawnHelper } from './helper-process.ts'

const bytes = randomBytes(2500)
const manifest = manifestOf(bytes, { mode: 'download' })
let place: Place
let path: string

beforeAll(() => {
  place = new Place()
  path = place.manifest(manifest)
  writeFileSync(place.inRoot('payload.bin'), bytes)
})
afterAll(() => place.remove())

const usual = () => ['--manifest', path, '--root', place.root]

test('the readiness line has exactly its five fields, and no output contains the token', async () => {
  const helper = await spawnHelper([...usual(), '--ttl', '300'])
  const before = Date.now()
  expect(Object.keys(helper.readiness ?? {})).toEqual(['host', 'port', 'transfer_id', 'mode', 'expires_at'])
  expect(helper.readiness).toMatchObject({
    host: '127.0.0.1',
    transfer_id: manifest.transfer_id,
    mode: 'download',
  })
  const expires = Date.parse(helper.readiness?.expires_at ?? '')
  expect(Math.abs(expires - before - 300_000)).toBeLessThan(10_000)
  const { port = 0 } = helper.readiness ?? {}
  const answer = await exchange(port, request({ target: '/v1/file', token: helper.token }))
  expect(answer.body.equals(bytes)).toBe(true)
  const commandLine = readFileSync(`/proc/${helper.child.pid}/cmdline`, 'utf8')
  expect(commandLine + helper.said.out + helper.said.err).not.toContain(helper.token)
  expect(await helper.kill('SIGTERM')).toBe(0)
  expect(helper.said.out.split('\n')).toHaveLength(2)
  expect(helper.said.err).toBe('')
})

test.each([[[]], [['--json']]])(
  'with %j before the command too, the helper ends with its input, and on SIGHUP',
  async (before) => {
    const open = await spawnHelper([...usual(), '--end-with-input'], { before, hasInput: true })
    expect(open.readiness).toBeDefined()
    open.child.stdin?.end()
    expect(await open.ended).toBe(0)
    const hung = await spawnHelper(usual(), { before })
    expect(hung.readiness).toBeDefined()
    expect(await hung.kill('SIGHUP')).toBe(0)
  },
)

test('the helper listens on 127.0.0.1 only', async () => {
  const helper = await spawnHelper(usual())
  const tables = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${helper.child.pid}/net/${name}`, 'utf8').split('\n'),
  )
  const port = (helper.readiness?.port ?? 0).toString(16).toUpperCase().padStart(4, '0')
  const listening = tables.filter((line) => line.includes(`:${port} `) && / 0A /.test(line))
  expect(listening.map((line) => line.trim().split(/\s+/)[1])).toEqual([`0100007F:${port}`])
  await helper.kill('SIGINT')
})

describe('a failed start prints a fixed code and nothing else', () => {
  const failing = async (args: readonly string[], token?: string): Promise<[string, string, unknown]> => {
    const { said, ended } = await spawnHelper(args, { token })
    return [said.out, said.err, await ended]
  }

  test('for its options', async () => {
    expect(await failing(['--bogus'])).toEqual(['', '{"error":"invalid_options"}\n', 2])
  })
  test('for its token', async () => {
    expect(await failing(usual(), 'short')).toEqual(['', '{"error":"invalid_token"}\n', 1])
  })
  test('for its port', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    expect(await failing([...usual(), '--port', String(port)])).toEqual(['', '{"error":"port_in_use"}\n', 1])
    taken.close()
  })
})

describe('options', () => {
  const token = freshToken()
  const codeOf = (args: readonly string[], value: string | null = token): string => {
    try {
      readOptions(args, value === null ? {} : { SERVICE_TRANSFER_TOKEN: value })
      return 'fine'
    } catch (error) {
      return startErrorOf(error)
    }
  }
  const needed = ['--manifest', 'm', '--root', 'r']

  test('have the defaults and ranges of the specification', () => {
    expect(readOptions(needed, { SERVICE_TRANSFER_TOKEN: token })).toEqual({
      manifest: 'm',
      root: 'r',
      port: 0,
      ttlSeconds: 1800,
      maxBytes: 1024 ** 3,
      token,
    })
    for (const args of [
      ['--ttl=1'],
      ['--ttl', '1800'],
      ['--port', '65535'],
      [`--max-bytes=${10 * 1024 ** 3}`],
      ['--json'],
    ]) {
      expect([args, codeOf([...needed, ...args])]).toEqual([args, 'fine'])
    }
  })

  test.each([
    [['--root', 'r']],
    [['--manifest', 'm']],
    [[]],
    [[...needed, '--manifest', 'n']],
    [[...needed, '--root=q']],
    [[...needed, '--ttl', '0']],
    [[...needed, '--ttl', '1801']],
    [[...needed, '--ttl', '1.5']],
    [[...needed, '--ttl', '-1']],
    [[...needed, '--ttl', '1e2']],
    [[...needed, '--ttl', ' 5']],
    [[...needed, '--ttl', '05']],
    [[...needed, '--ttl', '']],
    [[...needed, '--port', '65536']],
    [[...needed, '--port', 'http']],
    [[...needed, '--port', '0x50']],
    [[...needed, '--max-bytes', String(10 * 1024 ** 3 + 1)]],
    [[...needed, '--max-bytes', '1G']],
    [[...needed, '--ttl']],
    [[...needed, '--token', 'x']],
    [[...needed, 'extra']],
    [['--manifest=', '--root', 'r']],
    [[...needed, '--no-ttl']],
  ])('%j are refused', (args) => {
    expect(codeOf(args)).toBe('invalid_options')
  })

  test.each([
    null,
    '',
    'a'.repeat(42),
    'a'.repeat(129),
    `${'a'.repeat(43)}=`,
    `${'a'.repeat(43)} `,
    `${'a'.repeat(43)}\n`,
    'ä'.repeat(43),
    '+/'.repeat(30),
  ])('the token %j is refused', (value) => {
    expect(codeOf(needed, value)).toBe('invalid_token')
  })

  test('the token is removed from the environment once it was read', () => {
    const environment = { SERVICE_TRANSFER_TOKEN: token, OTHER: 'x' }
    readOptions(needed, environment)
    expect(environment).toEqual({ OTHER: 'x' })
  })
})

describe('the expiry', () => {
  let elapsed = 0
  const clock = { now: () => new Date(), elapsed: () => elapsed }
  const upload = manifestOf(bytes, { mode: 'upload', partSize: 2500 })
  const token = freshToken()

  async function expiring(
    ttlSeconds: number,
    run: (helper: RunningHelper, root: Place) => Promise<void>,
    lookMs = 3_600_000,
  ): Promise<void> {
    const own = new Place()
    elapsed = 0
    const options = {
      manifest: own.manifest(upload),
      root: own.root,
      port: 0,
      ttlSeconds,
      maxBytes: 9999,
      token,
    }
    const helper = await startHelper(options, { clock, lookMs })
    try {
      await run(helper, own)
    } finally {
      await helper.stop()
      own.remove()
    }
  }
  const put = request({ method: 'PUT', target: '/v1/parts/0', token, body: bytes })
  const finalize = request({ method: 'POST', target: '/v1/finalize', token })

  test('closes listener and sockets, and ends the process', async () => {
    const helper = await spawnHelper([...usual(), '--ttl', '4'])
    const { port = 0 } = helper.readiness ?? {}
    const idle = connect(port, '127.0.0.1')
    await once(idle, 'close')
    expect(await helper.ended).toBe(0)
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('answers 410 while the process is running, and publishes nothing', () =>
    expiring(60, async ({ readiness: { port } }, own) => {
      expect((await exchange(port, put)).status).toBe(200)
      elapsed = 60_000
      for (const call of [finalize, put, request({ target: '/v1/status', token })]) {
        const answer = await exchange(port, call)
        expect([answer.status, answer.error]).toEqual([410, 'expired'])
      }
      expect(existsSync(own.inRoot('payload.bin'))).toBe(false)
    }))

  test('is found within one look after the machine slept', () =>
    expiring(
      1800,
      async ({ readiness: { port }, ended }) => {
        expect((await exchange(port, put)).status).toBe(200)
        elapsed = 1_800_000
        await ended
        expect((await exchange(port, request({ target: '/v1/status', token }))).status).toBe(0)
      },
      10,
    ))

  test('ends an upload in flight with 410', () =>
    expiring(60, async ({ readiness: { port }, stop }) => {
      const answer = exchange(port, put.subarray(0, -100))
      // The helper may read another connection first, and closes one on which it has read nothing.
      const isReceived = async () => (await exchange(port, finalize)).error === 'transfer_busy'
      await expect.poll(isReceived).toBe(true)
      const stopped = stop()
      // A busy machine may let a short time for the answers pass within one turn of the event loop.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
      await stopped
      expect((await answer).error).toBe('expired')
    }))

  test('ends within seconds although an answer never comes', () =>
    expiring(60, async ({ readiness: { port }, stop }, own) => {
      vi.spyOn(Transfer.prototype, 'receive').mockReturnValue(new Promise(() => {}))
      const upload = connect(port, '127.0.0.1').on('error', () => {})
      const closed = once(upload, 'close')
      upload.write(put.subarray(0, -100))
      const isReceived = async () => (await exchange(port, finalize)).error === 'transfer_busy'
      await expect.poll(isReceived).toBe(true)
      const beganMs = performance.now()
      await stop()
      expect(performance.now() - beganMs).toBeLessThan(10_000)
      upload.resume()
      await closed
      expect(existsSync(own.inRoot('payload.bin'))).toBe(false)
    }))

  test('between the check of the whole file and its naming leaves no file', () =>
    expiring(60, async ({ readiness: { port } }, own) => {
      expect((await exchange(port, put)).status).toBe(200)
      // The request is admitted, then the expiry passes before the file has its name.
      let asked = 0
      const original = clock.elapsed
      clock.elapsed = () => (asked++ === 0 ? 0 : 60_000)
      const answer = await exchange(port, finalize)
      clock.elapsed = original
      expect([answer.status, answer.error]).toEqual([410, 'expired'])
      expect(existsSync(own.inRoot('payload.bin'))).toBe(false)
    }))
})

describe('slow clients', () => {
  test('a body without progress is refused with 408, and the next request is admitted', async () => {
    const own = new Place()
    const upload = manifestOf(randomBytes(200_000), { mode: 'upload', partSize: 200_000 })
    const token = freshToken()
    const options = {
      manifest: own.manifest(upload),
      root: own.root,
      port: 0,
      ttlSeconds: 60,
      maxBytes: 999_999,
      token,
    }
    const progressMs = 100
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const helper = await startHelper(options, { pace: { progressBytes: 65_536, progressMs } })
    const { port } = helper.readiness
    const slow = exchange(
      port,
      request({ method: 'PUT', target: '/v1/parts/0', token, headers: ['Content-Length: 200000'] }),
    )
    await expect.poll(() => vi.getTimerCount()).toBe(1)
    const busy = await exchange(port, request({ method: 'POST', target: '/v1/finalize', token }))
    expect([busy.status, busy.error]).toEqual([409, 'transfer_busy'])
    vi.advanceTimersByTime(progressMs)
    const answer = await slow
    expect([answer.status, answer.error]).toEqual([408, 'too_slow'])
    const next = await exchange(port, request({ method: 'POST', target: '/v1/finalize', token }))
    expect(next.error).toBe('parts_missing')
    await helper.stop()
    own.remove()
  })

  test('endless headers are refused with 408 after 5 s, and four such clients do not block the owner', async () => {
    const helper = await spawnHelper(usual())
    const { port = 0 } = helper.readiness ?? {}
    const silent = [0, 1, 2, 3].map(() =>
      exchange(port, 'GET /v1/status HTTP/1.1\r\nHost: x\r\n', { untilClosed: true }),
    )
    const began = Date.now()
    const answers = await Promise.all(silent)
    expect(Date.now() - began).toBeLessThan(30_000)
    for (const answer of answers) expect([answer.status, answer.error]).toEqual([408, 'too_slow'])
    expect((await exchange(port, request({ target: '/v1/status', token: helper.token }))).status).toBe(200)
    await helper.kill('SIGTERM')
  })
})

test('after twenty wrong tokens each further one is delayed, and the right one is not', async () => {
  const token = freshToken()
  const options = { manifest: path, root: place.root, port: 0, ttlSeconds: 60, maxBytes: 9999, token }
  const badTokenMs = 500
  const helper = await startHelper(options, { badTokenMs })
  const { port } = helper.readiness
  const wrong = request({ target: '/v1/status', token: freshToken() })
  const began = performance.now()
  for (let round = 0; round < 20; round += 1) expect((await exchange(port, wrong)).status).toBe(401)
  const free = performance.now()
  expect((await exchange(port, wrong)).status).toBe(401)
  expect(performance.now() - free).toBeGreaterThanOrEqual(badTokenMs - 10)
  expect(free - began).toBeLessThan(20 * badTokenMs)
  expect((await exchange(port, request({ target: '/v1/status', token }))).status).toBe(200)
  await helper.stop()
})

test.skipIf(process.getuid?.() !== 0)(
  'running as another user, the helper serves and receives the files of that user, and no others',
  async () => {
    const uid = 65_534
    const own = new Place(uid)
    const upload = manifestOf(bytes, { mode: 'upload' })
    const args = ['--manifest', own.manifest(upload, uid), '--root', own.root]
    const helper: HelperProcess = await spawnHelper(args, { uid })
    const { port = 0 } = helper.readiness ?? {}
    for (const { index } of upload.parts) {
      const body = partOf(bytes, upload, index)
      const call = request({ method: 'PUT', target: `/v1/parts/${index}`, token: helper.token, body })
      expect((await exchange(port, call)).status).toBe(200)
    }
    expect(
      (await exchange(port, request({ method: 'POST', target: '/v1/finalize', token: helper.token }))).status,
    ).toBe(200)
    await helper.kill('SIGTERM')
    // A file of root belongs to another user.
    own.manifest(upload)
    const refused = await spawnHelper(args, { uid })
    expect(refused.said.err).toBe('{"error":"manifest_unreadable"}\n')
    writeFileSync(own.inRoot('root.bin'), bytes)
    chmodSync(own.inRoot('root.bin'), 0o644)
    own.manifest({ ...manifestOf(bytes, { mode: 'download' }), filename: 'root.bin' }, uid)
    const foreign = await spawnHelper(args, { uid })
    expect(foreign.said.err).toBe('{"error":"unsafe_file"}\n')
    truncateSync(own.inRoot('root.bin'))
    own.remove()
  },
)
