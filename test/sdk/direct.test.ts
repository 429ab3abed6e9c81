/**
 * An endpoint is valid for half an hour at most, and the transfer for longer. The tests cover the outcome of
 * a direct transfer when one ends before the other, on either side. Helpers and recipient run in this
 * process. Contract §9 "Direct mode".
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request as ask, createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RunningHelper, startHelper } from '../../helper/main.ts'
import { manifestText } from '../../sdk/contract/helper/manifest.ts'
import type { Bridge, ServingHelper, Transfer } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { bridgeOf } from '../support/bridges.ts'
import { describeBytes, fileOf } from '../support/files.ts'
import { soon } from '../support/waits.ts'

let node: TestBridge
let ada: Bridge
let ben: Bridge
let folder: string
const bytes = fileOf(30_000)
const token = (letter: string) => letter.repeat(43)

beforeAll(async () => {
  node = await startBridge()
  ada = bridgeOf(node, node.ada)
  ben = bridgeOf(node, node.ben)
  folder = await mkdtemp(join(tmpdir(), 'bridge-direct-sdk-'))
})

const helpers: RunningHelper[] = []
const doors: Server[] = []
const giveUp: AbortController[] = []

/** A failing test leaves nothing that affects another. */
afterEach(async () => {
  for (const each of giveUp.splice(0)) each.abort()
  for (const door of doors.splice(0)) {
    door.closeAllConnections()
    door.close()
  }
  for (const helper of helpers.splice(0)) await helper.stop()
})

afterAll(async () => {
  await ada.close()
  await ben.close()
  await node.close()
  await rm(folder, { recursive: true, force: true })
})

function untilTestEnds(): AbortController {
  const controller = new AbortController()
  giveUp.push(controller)
  return controller
}

/** Serves until the transfer ends; errors of a run that a failed test left behind are ignored. */
function serve(id: string, start: () => Promise<ServingHelper>, onDeposited?: (at: string) => void) {
  const served = ada.transfers.serve(id, start, { signal: untilTestEnds().signal, onDeposited })
  served.catch(() => {})
  return served
}

/** Makes a direct transfer of three parts, with the data that its helper needs. */
async function offered(ttlSeconds = 3600): Promise<{ transfer: Transfer; manifest: string; root: string }> {
  const address = await ada.directory.address('ben')
  const input = { ...address, filename: 'report.pdf', ...describeBytes(bytes, 10_000) }
  const transfer = await ada.transfers.offer({
    ...input,
    mode: 'direct',
    encryption: 'none',
    ttl_seconds: ttlSeconds,
  })
  const place = join(folder, transfer.id)
  const root = join(place, 'root')
  await mkdir(root, { recursive: true })
  await writeFile(join(root, 'report.pdf'), bytes, { mode: 0o600 })
  const manifest = join(place, 'manifest.json')
  const { id, filename, size, sha256, parts } = transfer
  await writeFile(
    manifest,
    manifestText({ version: '1', transfer_id: id, mode: 'download', filename, size, sha256, parts }),
    { mode: 0o600 },
  )
  return { transfer, manifest, root }
}

interface Served {
  /** The paths requested from each endpoint, in order. */
  readonly asked: string[][]
  readonly start: () => Promise<ServingHelper>
}

interface Door {
  /** The lifetime of the helper. */
  readonly ttlSeconds?: number
  /** The clock by which the helper expires, by default a real one. */
  readonly elapsed?: () => number
  /** The deposited expiry, if it differs from the helper's. */
  readonly expiresAt?: Date
  /** Answers a request in place of the helper if it returns true. */
  readonly instead?: (path: string, answer: ServerResponse, helper: RunningHelper) => boolean
}

/** Starts helpers one after the other, each behind a proxy that records its requests. */
function serving(
  { manifest, root }: { manifest: string; root: string },
  each: (round: number) => Door,
): Served {
  const asked: string[][] = []
  const start = async (): Promise<ServingHelper> => {
    const round = asked.push([])
    const { ttlSeconds = 60, expiresAt, instead, elapsed = () => performance.now() } = each(round)
    const given = token(String.fromCharCode(64 + round))
    const clock = { now: node.clock, elapsed }
    const options = { manifest, root, port: 0, ttlSeconds, maxBytes: 1e6, token: given }
    const helper = await startHelper(options, { clock })
    helpers.push(helper)
    const door = createServer((request, answer) => {
      const path = request.url ?? ''
      asked[round - 1]?.push(path)
      if (instead?.(path, answer, helper) === true) return
      const headers = { authorization: request.headers.authorization ?? '' }
      const asking = ask({ host: '127.0.0.1', port: helper.readiness.port, path, headers }, (reply) => {
        answer.writeHead(reply.statusCode ?? 0, reply.headers)
        reply.pipe(answer)
      })
      asking.on('error', () => answer.destroy()).end()
    })
    doors.push(door)
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
    return {
      endpoint: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
      token: given,
      expiresAt: expiresAt?.toISOString() ?? helper.readiness.expires_at,
      ended: helper.ended,
      stop: () => helper.stop(),
    }
  }
  return { asked, start }
}

const part = (index: number) => `/v1/parts/${index}`

test('a helper that expires inside a part is followed by another, which gets requests for the remaining parts', async () => {
  const { transfer, ...place } = await offered()
  // The first helper expires with half of the second part sent.
  const { asked, start } = serving(place, (round) => ({
    ...(round === 1 && { elapsed: node.clock.elapsedMs }),
    instead: (path, answer, { ended }) => {
      if (round > 1 || path !== part(1)) return false
      answer.writeHead(200, { 'content-length': 10_000 }).write(bytes.subarray(10_000, 15_000))
      void ended.then(() => answer.destroy())
      node.clock.advance(61)
      return true
    },
  }))
  const { signal } = untilTestEnds()
  const deposited: string[] = []
  const served = serve(transfer.id, start, (at) => void deposited.push(at))
  const to = join(folder, 'deadline.pdf')
  const received = await ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect(received.transfer.state).toBe('verified')
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect((await served).state).toBe('verified')
  expect(new Set(deposited).size).toBe(2)
  expect(asked).toEqual([
    ['/v1/status', part(0), part(1)],
    ['/v1/status', part(1), part(2)],
  ])
})

test('an interrupted recipient resumes with its parts at any later endpoint', async () => {
  const { transfer, ...place } = await offered()
  const { asked, start } = serving(place, () => ({}))
  const { signal } = untilTestEnds()
  const deposited: string[] = []
  const served = serve(transfer.id, start, (at) => void deposited.push(at))
  const to = join(folder, 'later.pdf')
  const gone = untilTestEnds()
  const broken = ben.transfers.receive(transfer.id, to, {
    allowPlainHttp: true,
    signal: gone.signal,
    onProgress: ({ parts }) => void (parts === 1 && gone.abort()),
  })
  await expect(broken).rejects.toMatchObject({ code: 'aborted' })
  // Two endpoints expire without a request.
  for (const round of [1, 2]) {
    await helpers[round - 1]?.stop()
    await expect.poll(() => deposited.length).toBe(round + 1)
  }
  let resumed = 0
  const onProgress = ({ resumedParts }: { resumedParts: number }) => {
    resumed = resumedParts
  }
  await ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal, onProgress })
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(resumed).toBe(1)
  expect(asked[1]).toEqual([])
  expect(asked[2]).toEqual(['/v1/status', part(1), part(2)])
  expect((await served).state).toBe('verified')
})

test('an endpoint that expired before the recipient arrived gets no request, and the sender deposits the next one', async () => {
  const { transfer, ...place } = await offered()
  const { asked, start } = serving(place, () => ({ ttlSeconds: 1800 }))
  const { signal } = untilTestEnds()
  const deposited: string[] = []
  const served = serve(transfer.id, start, (at) => void deposited.push(at))
  await expect.poll(() => deposited.length, soon).toBe(1)
  // The sender's machine slept: the endpoint has expired at the node, and the helper did not notice.
  node.clock.advance(31 * 60)
  await expect.poll(() => deposited.length, soon).toBe(2)
  const to = join(folder, 'over.pdf')
  await ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(asked).toEqual([[], ['/v1/status', part(0), part(1), part(2)]])
  expect((await served).state).toBe('verified')
})

test('an endpoint that answers that it has expired is followed by the next one, with the remaining parts', async () => {
  const { transfer, ...place } = await offered()
  const { asked, start } = serving(place, (round) => ({
    instead: (path, answer, helper) => {
      if (round > 1 || path !== part(1)) return false
      answer.writeHead(410, { 'content-type': 'application/json' }).end('{"error":"expired"}')
      void helper.stop()
      return true
    },
  }))
  const { signal } = untilTestEnds()
  const served = serve(transfer.id, start)
  const to = join(folder, 'expired.pdf')
  await ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(asked).toEqual([
    ['/v1/status', part(0), part(1)],
    ['/v1/status', part(1), part(2)],
  ])
  expect((await served).state).toBe('verified')
})

test('a helper that fails once is asked for the same part again', async () => {
  const { transfer, ...place } = await offered()
  let failures = 0
  const { asked, start } = serving(place, () => ({
    instead: (path, answer) => {
      if (path !== part(1) || failures > 0) return false
      failures += 1
      answer.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"internal"}')
      return true
    },
  }))
  const { signal } = untilTestEnds()
  const served = serve(transfer.id, start)
  const to = join(folder, 'internal.pdf')
  await ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(asked).toEqual([['/v1/status', part(0), part(1), part(1), part(2)]])
  expect((await served).state).toBe('verified')
})

test('a helper that does not answer for a while is tried again at the same endpoint', async () => {
  const { transfer, ...place } = await offered()
  let failures = 0
  const { asked, start } = serving(place, () => ({
    ttlSeconds: 1800,
    instead: (path, answer) => {
      // More than the tries of one download.
      if (path !== part(1) || failures === 7) return false
      failures += 1
      answer.destroy()
      return true
    },
  }))
  const { signal } = untilTestEnds()
  const served = serve(transfer.id, start)
  const to = join(folder, 'away.pdf')
  await ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect((await readFile(to)).equals(bytes)).toBe(true)
  const before = ['/v1/status', part(0), ...Array(7).fill(part(1))]
  expect(asked).toEqual([[...before, '/v1/status', part(1), part(2)]])
  expect((await served).state).toBe('verified')
})

test('when the transfer ends, serving ends too, and the waiting caller gets an error', async () => {
  const { transfer, ...place } = await offered(60)
  const { asked, start } = serving(place, (round) => ({
    instead: (path, answer) => {
      if (path === part(1)) answer.destroy()
      return round === 1 && path === part(1)
    },
  }))
  const { signal } = untilTestEnds()
  const served = serve(transfer.id, start)
  const received = ben.transfers.receive(transfer.id, join(folder, 'never.pdf'), {
    allowPlainHttp: true,
    signal,
    onProgress: ({ parts }) => void (parts === 1 && node.clock.advance(61)),
  })
  await expect(received).rejects.toMatchObject({ message: expect.stringContaining('expired') })
  expect((await served).state).toBe('expired')
  expect(asked).toHaveLength(1)
  await helpers[0]?.ended
  await expect(readFile(join(folder, 'never.pdf'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a sender that cannot serve again reports it, and one whose helpers end immediately gives up', async () => {
  const { transfer, ...place } = await offered()
  const { start } = serving(place, () => ({}))
  let starts = 0
  const onceOnly = async () => {
    starts += 1
    if (starts > 1) throw new Error('no port is left')
    return start()
  }
  const ending = ada.transfers.serve(transfer.id, onceOnly, { onDeposited: () => void helpers[0]?.stop() })
  await expect(ending).rejects.toThrow('no port is left')

  const short = async () => {
    const helper = await start()
    await helper.stop()
    return helper
  }
  await expect(ada.transfers.serve(transfer.id, short)).rejects.toMatchObject({ code: 'unreachable' })
  expect((await ada.transfers.get(transfer.id)).state).toBe('offered')
})

test('a recipient that waits for an endpoint stops when the transfer ends', async () => {
  const { transfer } = await offered()
  const onWaiting = () => void ada.transfers.cancel(transfer.id)
  const received = ben.transfers.receive(transfer.id, join(folder, 'never.pdf'), { onWaiting })
  await expect(received).rejects.toMatchObject({ code: 'transfer_expired' })
})

test.each([-250, 1, 25, 2 * 86_400])(
  'a helper on a machine that is %d seconds ahead deposits an expiry that the node accepts',
  async (seconds) => {
    const clock = Object.assign(() => new Date(node.clock().getTime() + seconds * 1000), node.clock)
    const sender = bridgeOf({ ...node, clock }, node.ada)
    try {
      const address = await sender.directory.address('ben')
      const input = { ...address, filename: 'report.pdf', ...describeBytes(bytes) }
      const { id } = await sender.transfers.offer({ ...input, mode: 'direct', encryption: 'none' })
      const ahead = node.clock().getTime() + seconds * 1000
      const start = async (): Promise<ServingHelper> => ({
        endpoint: 'https://abc.example',
        token: token('T'),
        expiresAt: new Date(ahead + 1_800_000).toISOString(),
        ended: new Promise(() => {}),
        stop: async () => {},
      })
      let endpoint = ''
      const onDeposited = (deposited: string) => {
        endpoint = deposited
        void sender.transfers.cancel(id)
      }
      expect((await sender.transfers.serve(id, start, { onDeposited })).state).toBe('cancelled')
      expect(endpoint).toBe('https://abc.example')
    } finally {
      await sender.close()
    }
  },
)
