/**
 * Bytes of a package move while their agent has the right to move them. They keep its session alive, and stop
 * as soon as the right is lost. Contract §3, §5.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { type ErrorCode, errors } from '../../../sdk/contract/errors.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { openFiles, stalledDownload } from '../../support/downloads.ts'
import { act, fileOf, offer, putPart, told, upload } from '../../support/files.ts'
import { packageBytes, partBytes, storeZeros } from '../../support/sparse-package.ts'
import { soon } from '../../support/waits.ts'
import { behindItsBack } from '../delivery/listeners.ts'
import { losses } from '../lost-rights.ts'

let bridge: TestBridge
let count = 0

beforeAll(async () => {
  // The periodic rechecks of this server run only when a test moves their time.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  bridge = await startBridge({ settings: { packages_bytes: String(40 * packageBytes) } })
})
const open: { destroy(): unknown }[] = []
afterAll(async () => {
  for (const each of open) each.destroy()
  await bridge.close()
  vi.useRealTimers()
})

interface Scene {
  readonly project: { id: string; name: string }
  readonly sender: TestAgent
  readonly recipient: TestAgent
}

async function scene(): Promise<Scene> {
  count += 1
  const project = await bridge.owner.createProject(`moving ${count}`)
  const sender = await bridge.agent('sender', project.id)
  return { project, sender, recipient: await bridge.agent('recipient', project.id) }
}

const large = randomBytes(3 * 1024 * 1024)
const sent = large.length - 1024 * 1024

/** Whether the first bytes of the part are in a file of the package. */
function isStored(id: string): boolean {
  const folder = join(bridge.data, 'packages', id)
  try {
    return readdirSync(folder).some((name) =>
      readFileSync(join(folder, name)).includes(large.subarray(0, 64)),
    )
  } catch {
    return false
  }
}

/**
 * Sends two of three megabytes of a part, some of which are stored; returns the outcome, and when the
 * connection closes.
 */
async function stalledUpload({ sender, recipient }: Scene) {
  const { id } = await offer({ from: sender, to: recipient, bytes: large })
  const target = `/api/v1/transfers/${id}/package/parts/0`
  const signed = sender.sign({ method: 'PUT', target, body: large, key: null }, large)
  const headers = { ...Object.fromEntries(signed), 'content-length': String(large.length) }
  const call = request(`${sender.baseUrl}${target}`, { method: 'PUT', headers, agent: false })
  open.push(call)
  const closed = new Promise<void>((resolve) => call.once('close', () => resolve()))
  const answered = new Promise<[number, string]>((resolve, reject) => {
    call.on('error', reject).once('response', async (message) => {
      let text = ''
      message.on('error', () => {})
      for await (const chunk of message) text += chunk
      resolve([message.statusCode ?? 0, text])
    })
  })
  answered.catch(() => {})
  call.write(large.subarray(0, sent))
  await vi.waitFor(() => expect(isStored(id)).toBe(true), soon)
  return { id, call, answered, closed }
}

const refusal = (code: ErrorCode) => [errors[code].status, expect.stringContaining(`"error":"${code}"`)]

describe('an upload is refused, its part is deleted and its connection is closed when', () => {
  test.concurrent.each(losses)('$by', async ({ reason, happens }) => {
    const its = await scene()
    const { id, answered, closed } = await stalledUpload(its)
    await happens(bridge, { project: its.project, lost: its.sender })
    expect(await answered).toEqual(refusal(reason))
    expect(isStored(id)).toBe(false)
    // The rest of the body never arrives, and the node does not wait for it.
    await closed
  })

  test('its project is paused', async () => {
    const its = await scene()
    const { id, answered } = await stalledUpload(its)
    await bridge.owner.setProject(its.project.id, 'paused')
    expect(await answered).toEqual(refusal('project_paused'))
    expect(isStored(id)).toBe(false)
  })

  test('its pair is disabled', async () => {
    const its = await scene()
    const { id, answered } = await stalledUpload(its)
    await setPair(its, false)
    expect(await answered).toEqual(refusal('pairing_disabled'))
    expect(isStored(id)).toBe(false)
  })
})

describe('a transfer that ends after the request was admitted refuses', () => {
  /** Ends the transfer when the next request begins to watch its permission. */
  function endMeanwhile(id: string): void {
    const { setInterval: start } = globalThis
    const spied = vi.spyOn(globalThis, 'setInterval').mockImplementationOnce((act, ms) => {
      behindItsBack(bridge, "UPDATE transfers SET state = 'cancelled', ends_at = NULL WHERE id = ?", id)
      return start(act, ms)
    })
    onTestFinished(() => spied.mockRestore())
  }
  const bytes = fileOf(1000)
  const ended = [409, expect.objectContaining({ error: 'state_conflict', details: { state: 'cancelled' } })]

  test('a part', async () => {
    const its = await scene()
    const { id } = await offer({ from: its.sender, to: its.recipient, bytes })
    endMeanwhile(id)
    const { status, json } = await putPart(its.sender, id, 0, bytes)
    expect([status, json]).toEqual(ended)
  })

  test('finalize', async () => {
    const its = await scene()
    const { id } = await offer({ from: its.sender, to: its.recipient, bytes })
    await putPart(its.sender, id, 0, bytes)
    endMeanwhile(id)
    const target = `/api/v1/transfers/${id}/package/finalize`
    const { status, json } = await its.sender.call({ target, body: {}, key: null })
    expect([status, json]).toEqual(ended)
  })

  test('a download', async () => {
    const its = await scene()
    const { id } = await zeros(its)
    endMeanwhile(id)
    const target = `/api/v1/transfers/${id}/package/parts/0`
    const { status, json } = await its.recipient.call({ target })
    expect([status, json]).toEqual(ended)
  })
})

const setPair = ({ project, sender, recipient }: Scene, enabled: boolean) =>
  bridge.owner.ok({
    target: `/api/admin/projects/${project.id}/pairings`,
    body: { agent_ids: [sender.id, recipient.id], enabled },
  })

async function zeros({ sender: from, recipient: to }: Scene): Promise<Transfer> {
  const transfer = await storeZeros(bridge, { from, to })
  await act(to, transfer.id, 'accept')
  return transfer
}

async function downloading(its: Scene, what?: string) {
  const { id } = await zeros(its)
  const download = await stalledDownload(its.recipient, id, what)
  open.push(download)
  return { id, ...download }
}

describe('a download is cut off and its file is closed when', () => {
  test.concurrent.each(losses)('$by', async ({ happens }) => {
    const its = await scene()
    const { id, rest } = await downloading(its)
    await happens(bridge, { project: its.project, lost: its.recipient })
    await vi.waitFor(() => expect(openFiles(id)).toBe(0), soon)
    expect(await rest()).toBeLessThan(packageBytes / 2)
  })

  test('its pair is disabled', async () => {
    const its = await scene()
    const { id, rest } = await downloading(its)
    await setPair(its, false)
    await vi.waitFor(() => expect(openFiles(id)).toBe(0), soon)
    expect(await rest()).toBeLessThan(packageBytes / 2)
  })

  test('its right ended without a notification', async () => {
    const its = await scene()
    const { id, rest } = await downloading(its)
    behindItsBack(bridge, "UPDATE agents SET state = 'disabled' WHERE id = ?", its.recipient.id)
    vi.advanceTimersByTime(limits.recheckSeconds * 1000)
    await vi.waitFor(() => expect(openFiles(id)).toBe(0), soon)
    expect(await rest()).toBeLessThan(packageBytes / 2)
  })
})

test('losses of other agents, and notifications of other kinds, end no transfer', async () => {
  const its = await scene()
  const { rest } = await downloading(its, 'parts/3')
  const other = await bridge.agent('other', its.project.id)
  await other.send(await other.conversationWith(its.recipient.id), its.recipient.id, 'hello')
  await bridge.owner.setAgent(its.project.id, other.id, 'disabled')
  await bridge.owner.revoke(its.project.id, its.sender.enrolled.credential_id)
  await bridge.owner.setProject(its.project.id, 'paused')
  expect(await rest()).toBe(partBytes)
})

describe('a session is alive, however old its last request is, while', () => {
  // One second is left of the 90, and a busy machine may need longer for a request.
  beforeEach(() => void onTestFinished(bridge.clock.hold()))

  /** Starts a session as another process of the agent would. */
  const displace = (agent: TestAgent) => agent.requestSession(randomUUID())

  test('it has an upload in progress', async () => {
    const its = await scene()
    const { call, answered } = await stalledUpload(its)
    bridge.clock.advance(95)
    expect(told(await displace(its.sender))).toEqual([409, 'session_active'])
    call.end(large.subarray(sent))
    expect((await answered)[0]).toBe(200)
    bridge.clock.advance(89)
    expect(told(await displace(its.sender))).toEqual([409, 'session_active'])
    bridge.clock.advance(2)
    expect((await displace(its.sender)).status).toBe(200)
  })

  test('it has a download in progress, and afterwards as long as after any contact', async () => {
    const its = await scene()
    const { rest } = await downloading(its, 'parts/3')
    bridge.clock.advance(95)
    expect(told(await displace(its.recipient))).toEqual([409, 'session_active'])
    expect(await rest()).toBe(partBytes)
    bridge.clock.advance(89)
    expect(told(await displace(its.recipient))).toEqual([409, 'session_active'])
    bridge.clock.advance(2)
    expect((await displace(its.recipient)).status).toBe(200)
  })

  test('and not longer: a download that is cut off does not count', async () => {
    const its = await scene()
    const { call, id } = await stalledUpload(its)
    bridge.clock.advance(95)
    expect(told(await displace(its.sender))).toEqual([409, 'session_active'])
    call.destroy()
    await vi.waitFor(() => expect(isStored(id)).toBe(false), soon)
    // While it was in progress, it may have been stored as contact.
    bridge.clock.advance(91)
    await vi.waitFor(async () => expect((await displace(its.sender)).status).toBe(200), soon)
  })
})

test('a part that was complete before its sender lost the right stays stored for the next session', async () => {
  const its = await scene()
  const bytes = fileOf(2000)
  const transfer = await offer({ from: its.sender, to: its.recipient, bytes, partSize: 1000 })
  expect((await putPart(its.sender, transfer.id, 0, bytes.subarray(0, 1000))).status).toBe(200)
  await its.sender.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  await its.sender.startSession()
  expect((await putPart(its.sender, transfer.id, 0, bytes.subarray(0, 1000))).json).toMatchObject({
    duplicate: true,
  })
  await upload(its.sender, transfer, bytes)
})
