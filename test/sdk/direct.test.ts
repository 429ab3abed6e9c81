/**
 * An endpoint is valid for half an hour at most, and the transfer for longer. The tests cover the outcome of
 * a direct transfer when one ends before the other, on either side. Helpers and recipient run in this
 * process. Contract §9 "Direct mode".
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ServingHelper } from '../../sdk/index.ts'
import { bridgeOf } from '../support/bridges.ts'
import { bytes, directStage, part, token } from '../support/direct-stage.ts'
import { describeBytes } from '../support/files.ts'
import { soon } from '../support/waits.ts'

const stage = directStage()
const { untilTestEnds, serve, offered, serving, helpers } = stage

test('a helper that expires inside a part is followed by another, which gets requests for the remaining parts', async () => {
  const { transfer, ...place } = await offered()
  // The first helper expires with half of the second part sent.
  const { asked, start } = serving(place, (round) => ({
    ...(round === 1 && { elapsed: stage.node.clock.elapsedMs }),
    instead: (path, answer, { ended }) => {
      if (round > 1 || path !== part(1)) return false
      answer.writeHead(200, { 'content-length': 10_000 }).write(bytes.subarray(10_000, 15_000))
      void ended.then(() => answer.destroy())
      stage.node.clock.advance(61)
      return true
    },
  }))
  const { signal } = untilTestEnds()
  const deposited: string[] = []
  const served = serve(transfer.id, start, (at) => void deposited.push(at))
  const to = join(stage.folder, 'deadline.pdf')
  const received = await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
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
  const to = join(stage.folder, 'later.pdf')
  const gone = untilTestEnds()
  const broken = stage.ben.transfers.receive(transfer.id, to, {
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
  await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal, onProgress })
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
  stage.node.clock.advance(31 * 60)
  await expect.poll(() => deposited.length, soon).toBe(2)
  const to = join(stage.folder, 'over.pdf')
  await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
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
  const to = join(stage.folder, 'expired.pdf')
  await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
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
  const to = join(stage.folder, 'internal.pdf')
  await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
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
      // Until the recipient has used all tries of one download, and begins another one.
      if (path !== part(1) || asked[0]?.lastIndexOf('/v1/status') !== 0) return false
      failures += 1
      answer.destroy()
      return true
    },
  }))
  const { signal } = untilTestEnds()
  const served = serve(transfer.id, start)
  const to = join(stage.folder, 'away.pdf')
  await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(failures).toBeGreaterThanOrEqual(7)
  const before = ['/v1/status', part(0), ...Array(failures).fill(part(1))]
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
  const received = stage.ben.transfers.receive(transfer.id, join(stage.folder, 'never.pdf'), {
    allowPlainHttp: true,
    signal,
    onProgress: ({ parts }) => void (parts === 1 && stage.node.clock.advance(61)),
  })
  await expect(received).rejects.toMatchObject({ message: expect.stringContaining('expired') })
  expect((await served).state).toBe('expired')
  expect(asked).toHaveLength(1)
  await helpers[0]?.ended
  await expect(readFile(join(stage.folder, 'never.pdf'))).rejects.toMatchObject({ code: 'ENOENT' })
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
  const ending = stage.ada.transfers.serve(transfer.id, onceOnly, {
    onDeposited: () => void helpers[0]?.stop(),
  })
  await expect(ending).rejects.toThrow('no port is left')

  const short = async () => {
    const helper = await start()
    await helper.stop()
    return helper
  }
  await expect(stage.ada.transfers.serve(transfer.id, short)).rejects.toMatchObject({ code: 'unreachable' })
  expect((await stage.ada.transfers.get(transfer.id)).state).toBe('offered')
})

test('a recipient that waits for an endpoint stops when the transfer ends', async () => {
  const { transfer } = await offered()
  const onWaiting = () => void stage.ada.transfers.cancel(transfer.id)
  const received = stage.ben.transfers.receive(transfer.id, join(stage.folder, 'never.pdf'), { onWaiting })
  await expect(received).rejects.toMatchObject({ code: 'transfer_expired' })
})

test.each([-250, 1, 25, 2 * 86_400])(
  'a helper on a machine that is %d seconds ahead deposits an expiry that the node accepts',
  async (seconds) => {
    const clock = Object.assign(
      () => new Date(stage.node.clock().getTime() + seconds * 1000),
      stage.node.clock,
    )
    const sender = bridgeOf({ ...stage.node, clock }, stage.node.ada)
    try {
      const address = await sender.directory.address('ben')
      const input = { ...address, filename: 'report.pdf', ...describeBytes(bytes) }
      const { id } = await sender.transfers.offer({ ...input, mode: 'direct', encryption: 'none' })
      const ahead = stage.node.clock().getTime() + seconds * 1000
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
