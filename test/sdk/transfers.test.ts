/** A file from one Bridge to another through a real node. Contract §9. */
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Bridge } from '../../sdk/index.ts'
import { boxesIn } from '../support/boxes.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { bridgeOf } from '../support/bridges.ts'
import { openWire } from '../support/cut-proxy.ts'
import { describeBytes, fileOf, look, offer, putPart } from '../support/files.ts'

let node: TestBridge
let ada: Bridge
let ben: Bridge
let folder: string
const partSize = 8 * 1024 * 1024
const bytes = fileOf(2 * partSize + 12_345)

beforeAll(async () => {
  node = await startBridge()
  ada = bridgeOf(node, node.ada)
  ben = bridgeOf(node, node.ben)
  folder = await mkdtemp(join(tmpdir(), 'bridge-files-'))
  await writeFile(join(folder, 'report.pdf'), bytes)
})
afterAll(async () => {
  await ada.close()
  await ben.close()
  await node.close()
  await rm(folder, { recursive: true, force: true })
})

const source = () => join(folder, 'report.pdf')
const box = boxesIn(() => folder)
const packages = () => readdir(join(node.data, 'packages')).catch(() => [])

/** Waits for the removal of the bytes, which follows the answer that ended the transfer. */
async function removed(id: string): Promise<void> {
  await expect.poll(async () => (await ada.transfers.get(id)).cleanup.service_at).not.toBeNull()
}

test('a file arrives verified, with its receipt, and the service keeps none of its bytes', async () => {
  const progress: number[] = []
  const onProgress = ({ bytes: across }: { bytes: number }) => void progress.push(across)
  const sent = await ada.transfers.send(source(), { to: 'ben', onProgress })
  expect(sent).toMatchObject({ state: 'offered', package: { stored_parts: 3 } })
  expect(await packages()).toContain(sent.id)

  const inbox = await box()
  const { path, transfer } = await ben.transfers.receive(sent.id, join(inbox, 'report.pdf'))
  expect((await readFile(path)).equals(bytes)).toBe(true)
  expect(transfer).toMatchObject({ state: 'verified', receipt: { size: bytes.length, sha256: sent.sha256 } })
  expect(progress.at(-1)).toBe(bytes.length)
  expect(await readdir(inbox)).toEqual(['report.pdf'])
  await removed(sent.id)
  expect(await packages()).not.toContain(sent.id)
})

test('a name with folders is refused before anything is written', async () => {
  const keep = join(await box(), 'keep')
  const refused = ada.transfers.send(source(), {
    to: 'ben',
    keep,
    direct: async (transfer) => transfer,
    filename: '../../../planted',
  })
  await expect(refused).rejects.toMatchObject({ code: 'not_sendable' })
  expect(existsSync(join(keep, 'planted'))).toBe(false)
  expect(existsSync(keep)).toBe(false)
})

test('an interrupted upload resumes with the missing parts', async () => {
  const interruption = new AbortController()
  let id = ''
  const broken = ada.transfers.send(source(), {
    to: 'ben',
    signal: interruption.signal,
    onOffered: (transfer) => {
      id = transfer.id
    },
    onProgress: ({ parts }) => {
      if (parts === 1) interruption.abort()
    },
  })
  await expect(broken).rejects.toMatchObject({ code: 'aborted' })
  const resumed: number[] = []
  const done = await ada.transfers.resume(id, source(), {
    onProgress: ({ resumedParts }) => void resumed.push(resumedParts),
  })
  expect(done.package?.stored_at).not.toBeNull()
  expect(Math.min(...resumed)).toBeGreaterThan(0)
})

test('a sender whose last answer is lost knows that the recipient has verified the file meanwhile', async () => {
  const wire = await openWire(() => Number(new URL(node.url).port))
  const sender = bridgeOf({ ...node, url: wire.url }, node.ada)
  onTestFinished(async () => {
    await sender.close()
    await wire.close()
  })
  const target = join(await box(), 'report.pdf')
  const step = 'POST /api/v1/transfers/{id}/package/finalize #1'
  let id = ''
  const struck = wire.arm({ step, moment: 'answered', act: () => ben.transfers.receive(id, target) })
  const sent = await sender.transfers.send(source(), {
    to: 'ben',
    onOffered: (transfer) => {
      id = transfer.id
    },
  })
  await struck
  expect(sent).toMatchObject({ id, state: 'verified', receipt: { sha256: sent.sha256 } })
  expect(wire.asked).toContain(step.replace('#1', '#2'))
  expect((await readFile(target)).equals(bytes)).toBe(true)
})

test.each(['without a folder for interrupted runs', 'with one'])(
  'a new upload %s does not ask which parts are there, and a resumed one does',
  async (which) => {
    const wire = await openWire(() => Number(new URL(node.url).port))
    const sender = bridgeOf({ ...node, url: wire.url }, node.ada)
    onTestFinished(async () => {
      await sender.close()
      await wire.close()
    })
    const interruption = new AbortController()
    const status = 'GET /api/v1/transfers/{id}/package/status #1'
    const keep = which === 'with one' ? join(await box(), 'keep') : undefined
    let id = ''
    const broken = sender.transfers.send(source(), {
      to: 'ben',
      keep,
      signal: interruption.signal,
      onOffered: (transfer) => {
        id = transfer.id
      },
      onProgress: ({ parts }) => {
        if (parts === 1) interruption.abort()
      },
    })
    await expect(broken).rejects.toMatchObject({ code: 'aborted' })
    expect(wire.asked).toContain('PUT /api/v1/transfers/{id}/package/parts/0 #1')
    expect(wire.asked).not.toContain(status)
    await sender.transfers.resume(id, source(), { keep })
    expect(wire.asked).toContain(status)
  },
)

test('an interrupted download resumes with the missing parts', async () => {
  const sent = await ada.transfers.send(source(), { to: 'ben' })
  const target = join(await box(), 'report.pdf')
  const interruption = new AbortController()
  const broken = ben.transfers.receive(sent.id, target, {
    signal: interruption.signal,
    onProgress: ({ parts }) => {
      if (parts === 1) interruption.abort()
    },
  })
  await expect(broken).rejects.toMatchObject({ code: 'aborted' })
  const resumed: number[] = []
  await ben.transfers.receive(sent.id, target, {
    onProgress: ({ resumedParts }) => void resumed.push(resumedParts),
  })
  expect(Math.min(...resumed)).toBeGreaterThan(0)
  expect((await readFile(target)).equals(bytes)).toBe(true)
})

test('a file other than the offered one is not uploaded', async () => {
  const sent = await offer({ from: node.ada, to: node.ben, bytes: fileOf(100) })
  const other = join(folder, 'other.pdf')
  await writeFile(other, fileOf(100, 9))
  await expect(ada.transfers.resume(sent.id, other)).rejects.toMatchObject({ code: 'integrity' })
  expect(await look(node.ada, sent.id)).toMatchObject({ package: { stored_parts: 0, stored_at: null } })
})

test('an existing file of that name stays, and nothing is fetched', async () => {
  const sent = await ada.transfers.send(source(), { to: 'ben' })
  const target = join(await box(), 'report.pdf')
  await writeFile(target, 'mine')
  await expect(ben.transfers.receive(sent.id, target)).rejects.toMatchObject({ code: 'destination_exists' })
  expect(await readFile(target, 'utf8')).toBe('mine')
  await ben.transfers.receive(sent.id, target, { overwrite: true })
  expect((await readFile(target)).equals(bytes)).toBe(true)
})

test('a lost receipt is sent by the next run, which fetches nothing', async () => {
  const sent = await ada.transfers.send(source(), { to: 'ben' })
  const target = join(await box(), 'report.pdf')
  await writeFile(target, bytes)
  const fetched: number[] = []
  const onProgress = ({ bytes: across }: { bytes: number }) => void fetched.push(across)
  const { transfer } = await ben.transfers.receive(sent.id, target, { onProgress })
  expect([transfer.state, fetched]).toEqual(['verified', []])
})

test('bytes that changed in the store never become a file, the service is notified, and the transfer stays', async () => {
  const small = fileOf(3000)
  const path = join(folder, 'small.bin')
  await writeFile(path, small)
  const sent = await ada.transfers.send(path, { to: 'ben' })
  await ben.transfers.accept(sent.id)
  await writeFile(join(node.data, 'packages', sent.id, 'package'), fileOf(3000, 77))
  const inbox = await box()
  const target = join(inbox, 'small.bin')
  await expect(ben.transfers.receive(sent.id, target)).rejects.toMatchObject({ code: 'integrity' })
  expect((await readdir(inbox)).filter((name) => !name.startsWith('.'))).toEqual([])
  expect(await look(node.ada, sent.id)).toMatchObject({ state: 'accepted', receipt: null })
  const { audit } = await node.owner.ok<{ audit: { kind: string }[] }>({
    target: `/api/admin/projects/${node.project.id}/audit?subject_id=${sent.id}&limit=100`,
  })
  expect(audit.map(({ kind }) => kind)).toContain('transfer.receipt_refused')
})

test('an empty file can be transferred', async () => {
  const path = join(folder, 'empty.txt')
  await writeFile(path, '')
  const sent = await ada.transfers.send(path, { to: 'ben' })
  const { path: there } = await ben.transfers.receive(sent.id, join(await box(), 'empty.txt'))
  expect(await readFile(there)).toHaveLength(0)
})

test('a recipient that waits for the upload receives the file once it is complete', async () => {
  const small = fileOf(500)
  const transfer = await offer({ from: node.ada, to: node.ben, bytes: small })
  const waiting = Promise.withResolvers<void>()
  const target = join(await box(), 'report.pdf')
  const received = ben.transfers.receive(transfer.id, target, { onWaiting: () => waiting.resolve() })
  await waiting.promise
  const path = join(folder, 'later.bin')
  await writeFile(path, small)
  await ada.transfers.resume(transfer.id, path)
  await received
  expect((await readFile(target)).equals(small)).toBe(true)
})

test('a cancelled transfer keeps no bytes, even of an upload that was in flight', async () => {
  const transfer = await offer({ from: node.ada, to: node.ben, bytes: fileOf(400), partSize: 200 })
  await putPart(node.ada, transfer.id, 0, fileOf(400).subarray(0, 200))
  expect(describeBytes(fileOf(400), 200).parts[0]?.sha256).toBe(transfer.parts[0]?.sha256)
  await ada.transfers.cancel(transfer.id)
  await removed(transfer.id)
  expect(await packages()).not.toContain(transfer.id)
})

test('a node without packages gets no package request, and the sender reports that and keeps nothing', async () => {
  const small = await startBridge({ settings: { packages_bytes: '0' } })
  const sender = bridgeOf(small, small.ada)
  const keep = await box()
  const refused = { code: 'capability_off', message: 'the node takes no packages now, as its bootstrap says' }
  await expect(sender.transfers.send(source(), { to: 'ben' })).rejects.toMatchObject(refused)
  await expect(sender.transfers.send(source(), { to: 'ben', keep })).rejects.toMatchObject(refused)
  expect(await readdir(keep)).toEqual([])
  expect((await sender.transfers.list()).transfers).toEqual([])
  // An offer that bypasses the store is still made.
  const offered: string[] = []
  const past = sender.transfers.send(source(), {
    to: 'ben',
    direct: async (transfer) => {
      offered.push(transfer.mode)
      return transfer
    },
  })
  expect(await past).toMatchObject({ mode: 'direct' })
  expect(offered).toEqual(['direct'])
  await sender.close()
  await small.close()
})

test('a node without its envelope key gets no request for a direct transfer', async () => {
  const small = await startBridge()
  await rm(join(small.data, 'envelope.key'))
  const sender = bridgeOf(small, small.ada)
  const direct = async () => {
    throw new Error('nothing was offered')
  }
  await expect(sender.transfers.send(source(), { to: 'ben', direct })).rejects.toMatchObject({
    code: 'capability_off',
    message: 'the node takes no direct transfers now, as its bootstrap says',
  })
  await sender.close()
  await small.close()
})
