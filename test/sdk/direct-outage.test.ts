/**
 * The node of a direct transfer is away for a moment while one endpoint follows another. The file does not go through
 * the node, so both sides wait for it. Contract §9 "Direct mode".
 */
import { readFile } from 'node:fs/promises'
import { request as ask } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bridgeOf } from '../support/bridges.ts'
import { bytes, directStage, part } from '../support/direct-stage.ts'

const stage = directStage()

/** The requests to cut, by their method and path, and how many of them are left. */
type Cuts = Map<string, number>

/** A way to the node that cuts connections. Returns its address. */
const wayToNode = (cuts: Cuts): Promise<string> =>
  stage.listen((request, answer) => {
    const { method, url: path, headers } = request
    const left = cuts.get(`${method} ${path}`) ?? 0
    if (left > 0) {
      cuts.set(`${method} ${path}`, left - 1)
      return void request.socket.resetAndDestroy()
    }
    const { hostname, port } = new URL(stage.node.url)
    const asking = ask({ hostname, port, method, path, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 0, reply.headers)
      reply.pipe(answer)
    })
    asking.on('error', () => answer.destroy())
    request.pipe(asking)
  })

test.each([
  ['the deposit of the next endpoint', 'POST', '/secret', 1],
  // A call that only reads has four attempts.
  ['the look at the transfer', 'GET', '', 5],
  ['the read of the next endpoint', 'GET', '/secret', 5],
] as const)('when the node is away during %s, both sides go on', async (_what, method, path, times) => {
  const { transfer, ...place } = await stage.offered()
  const { id } = transfer
  const cuts: Cuts = new Map()
  const url = await wayToNode(cuts)
  const sender = bridgeOf({ ...stage.node, url }, stage.node.ada)
  const recipient = bridgeOf({ ...stage.node, url }, stage.node.ben)
  const words = `${method} /api/v1/transfers/${id}${path}`
  const { asked, start } = stage.serving(place, (round) => ({
    instead: (path, answer, helper) => {
      if (round > 1 || path !== part(1)) return false
      cuts.set(words, times)
      answer.writeHead(410, { 'content-type': 'application/json' }).end('{"error":"expired"}')
      void helper.stop()
      return true
    },
  }))
  try {
    await sender.transfers.get(id)
    const served = stage.serve(id, start, undefined, sender)
    const to = join(stage.folder, `${id}.pdf`)
    const { signal } = stage.untilTestEnds()
    const received = recipient.transfers.receive(id, to, { allowPlainHttp: true, signal })
    const [sent, got] = await Promise.all([served, received])
    expect([sent.state, got.transfer.state]).toEqual(['verified', 'verified'])
    expect((await readFile(to)).equals(bytes)).toBe(true)
    expect(cuts.get(words)).toBe(0)
    expect(asked).toHaveLength(2)
  } finally {
    await sender.close()
    await recipient.close()
  }
})

test('a program whose node has never answered gives up', async () => {
  const { transfer, ...place } = await stage.offered()
  const words = `POST /api/v1/transfers/${transfer.id}/secret`
  const url = await wayToNode(new Map([[words, Number.POSITIVE_INFINITY]]))
  const sender = bridgeOf({ ...stage.node, url }, stage.node.ada)
  const { start } = stage.serving(place, () => ({}))
  const served = stage.serve(transfer.id, start, undefined, sender)
  await expect(served).rejects.toMatchObject({ code: 'unreachable' })
  await sender.close()
})

test('a helper that expires before its endpoint is stored is replaced', async () => {
  const { transfer, ...place } = await stage.offered()
  const { asked, start } = stage.serving(place, (round) =>
    round === 1 ? { expiresAt: new Date(Date.now() - 1000) } : {},
  )
  const served = stage.serve(transfer.id, start)
  const to = join(stage.folder, `${transfer.id}.pdf`)
  const { signal } = stage.untilTestEnds()
  await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect((await served).state).toBe('verified')
  expect(asked).toHaveLength(2)
})

test('a helper whose end is an error ends the transfer with it, and nothing else', async () => {
  const { transfer, ...place } = await stage.offered()
  const { start } = stage.serving(place, () => ({}))
  const failing = async () => ({ ...(await start()), ended: Promise.reject(new Error('no helper')) })
  await expect(stage.serve(transfer.id, failing)).rejects.toThrow('no helper')
})
