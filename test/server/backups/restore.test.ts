/**
 * A restored node: no old credential, session or request gives access, and losses are reported.
 *
 * One node is backed up, continues to work, and stops. Its backup is restored twice: into an empty folder,
 * where the changes since the backup are unknown, and over the node itself, where they are known.
 *
 * Contract §3, §5, §9, §12; reliability T48.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { backUp } from '../../../server/host/backups/backup.ts'
import { restorations } from '../../../server/host/backups/restorations.ts'
import type { RestoreReport } from '../../../server/host/backups/restore.ts'
import { issueOwnerLink, issueTelemetryToken, restoreBackup } from '../../../server/host/init.ts'
import { type RunningServer, startServer } from '../../../server/server.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { enroll, legacyAgent, TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, fileOf, look, offer, putPart, told, upload } from '../../support/files.ts'
import { exchange, type Reply } from '../../support/http.ts'
import { checkStore } from '../../support/invariants.ts'
import { sqliteOnly } from '../../support/one-store.ts'
import { cookieOf, ownerPassword, TestOwner } from '../../support/owner.ts'
import { withStoreCopy } from '../../support/store-copy.ts'

sqliteOnly('test/server/postgres/backups.test.ts')

const folder = mkdtempSync(join(tmpdir(), 'bridge-restore-'))
const file = join(folder, 'backup.db')
const settings = { port: '0', log_level: 'silent', rate_per_second: '100000', rate_burst: '100000' }
const device = JSON.stringify({ os: 'Linux', machine: 'a'.repeat(64), install: 'b'.repeat(32) })

let bridge: TestBridge
let people: Awaited<ReturnType<typeof settle>>
let later: Awaited<ReturnType<typeof liveOn>>
/** Restored into an empty folder. */
let fresh: { server: RunningServer; report: RestoreReport; data: string }
/**
 * Replies of the fresh node to requests that were signed before the restore, before the owner had reviewed
 * the credentials.
 */
let refused: { early: Reply[]; afterwards: Reply; held: Reply[]; revoked: Reply }
/** Restored over the node itself. */
let replaced: { bridge: TestBridge; report: RestoreReport }

/** Creates every kind of credential and permission, and work in progress. */
async function settle() {
  const { owner, project, ada, ben, clock, data, url } = bridge
  const make = async (name: string, fields: object = {}, its?: string) => {
    const { id } = await owner.createAgent(project.id, name)
    return enroll(url, await owner.enrollmentCode(project.id, id, fields), clock, its)
  }
  const revoked = await make('revoked')
  await revoked.startSession()
  await owner.revoke(project.id, revoked.enrolled.credential_id)
  const dan = await make('dan', { binding: 'device' }, device)
  const challenge = await dan.challenge()
  const pending = await owner.createAgent(project.id, 'pending')
  const code = await owner.enrollmentCode(project.id, pending.id)
  const taken = await make('taken')
  const { grant } = await owner.takeover(project.id, taken.id)
  const old = await owner.createAgent(project.id, 'legacy')
  const { credential, secret } = await owner.issueLegacy(project.id, old.id)
  const enrolled = { ...ada.enrolled, credential_id: credential.id, agent: { id: old.id, name: 'legacy' } }
  const legacy = legacyAgent(url, enrolled, secret, clock)
  const task = await ada.ok<{ id: string }>({
    target: '/api/v1/tasks',
    body: { assignee_agent_id: ben.id, title: 'a task', instructions: 'do it', claim_ttl_seconds: 30 },
  })
  const claim = { claim_generation: 1, session_generation: ben.session?.generation }
  await ben.ok({ target: `/api/v1/tasks/${task.id}/claim`, body: {} })
  const bytes = fileOf(100)
  const uploaded = await offer({ from: ada, to: ben, bytes })
  await act(ben, uploaded.id, 'accept')
  await upload(ada, uploaded, bytes)
  const half = await offer({ from: ada, to: ben, bytes, partSize: 50 })
  await putPart(ada, half.id, 0, bytes.subarray(0, 50))
  const unbegun = await offer({ from: ada, to: ben, bytes })
  const direct = await offer({ from: ada, to: ben, bytes, fields: { mode: 'direct' } })
  await act(ben, direct.id, 'accept')
  await act(ada, direct.id, 'secret', {
    endpoint: 'https://tunnel.example',
    token: 'x'.repeat(43),
    expires_at: new Date(clock().getTime() + 600_000).toISOString(),
    helper_mode: 'download',
  })
  // From here on, every stored end time is shown ten minutes later.
  clock.step(600)
  const doomed = await owner.createProject('doomed')
  const link = new URL(await issueOwnerLink(configOf(data))).hash.slice(1)
  const telemetry = await issueTelemetryToken(configOf(data))
  const transfers = { uploaded, half, unbegun, direct }
  return {
    revoked,
    dan,
    challenge,
    code,
    taken,
    grant,
    legacy,
    task,
    claim,
    transfers,
    doomed,
    link,
    telemetry,
  }
}

/** Makes the changes that the backup does not contain. */
async function liveOn() {
  const { owner, project, ada, ben } = bridge
  const { doomed, legacy } = people
  await ada.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  const { id: lostSession } = await ada.startSession()
  await owner.revoke(project.id, ada.enrolled.credential_id)
  await owner.setAgent(project.id, legacy.id, 'disabled')
  await owner.deleteProject(doomed.id, 'doomed')
  await owner.setPairing(project.id, [ben.id, people.taken.id], false)
  const newPassword = 'another battery staple horse'
  const body = { new_password: newPassword }
  await owner.ok({ target: '/api/admin/session/password', body })
  const recipient = await identityToRecipient(await generateIdentity())
  await ben.ok({ target: '/api/v1/recipient-key', body: { recipient }, key: null })
  return { newPassword, lostSession, recipient }
}

const configOf = (data: string) => readConfig({ data, ...settings }, {})

const restoreTo = (
  data: string,
  options: { replace?: boolean; acceptCredentials?: boolean; file?: string } = {},
) =>
  restoreBackup({
    config: configOf(data),
    file,
    replace: false,
    acceptCredentials: false,
    clock: bridge.clock,
    random: randomBytes,
    ...options,
  })

const serve = (data: string) =>
  startServer(configOf(data), { clock: bridge.clock, elapsedMs: bridge.clock.elapsedMs, passwordCost: 4 })

beforeAll(async () => {
  bridge = await startBridge()
  people = await settle()
  const options = { data: bridge.data, destination: file, clock: bridge.clock, random: randomBytes }
  await backUp({ ...options, signal: new AbortController().signal, onProgress: () => {} })
  later = await liveOn()
  await bridge.server.stop()
  bridge.clock.advance(60)
  const data = join(folder, 'fresh')
  fresh = { data, report: await restoreTo(data), server: await serve(data) }
  refused = await refusedAtFirst()
  replaced = { report: await restoreTo(bridge.data, { replace: true }), bridge: await bridge.restart() }
  bridge.clock.advance(31)
})
afterAll(async () => {
  await fresh?.server.stop()
  await replaced?.bridge.server.stop()
  await bridge?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function refusedAtFirst() {
  const { ada, ben, clock, project } = bridge
  const { dan, taken, legacy, revoked } = people
  const { url } = fresh.server
  const now = Math.floor(clock().getTime() / 1000)
  const early: Reply[] = []
  for (const ago of [0, 59, 200]) early.push(await at(ben, url).call({ ...inbox, time: now - ago }))
  // The wait moves past the window of proofs dated ahead of the restore.
  clock.advance(31)
  const afterwards = await at(ben, url).call(inbox)
  const held: Reply[] = []
  for (const agent of [ada, ben, dan, taken, legacy]) held.push(await at(agent, url).requestSession())
  const owner = await signIn(url, fresh.data)
  for (const agent of [ada, ben, dan, taken]) await owner.setAgent(project.id, agent.id, 'enabled')
  return { early, afterwards, held, revoked: await at(revoked, url).requestSession() }
}

/** The same agent as a client of the other server. */
const at = (agent: TestAgent, url: string): TestAgent => {
  const bound = {
    ...(agent.device && { device: agent.device }),
    ...(agent.secret && { secret: agent.secret }),
  }
  const moved = new TestAgent(url, agent.keys, agent.enrolled, bridge.clock, bound)
  moved.session = agent.session
  return moved
}

/** Gives the agent a session on that server: a new one, or the one that it has there already. */
async function come(agent: TestAgent, url: string): Promise<TestAgent> {
  const moved = at(agent, url)
  await moved.startSession(agent.instanceId)
  return moved
}

const inbox = { target: '/api/v1/inbox' }

const postTo = (
  url: string,
  target: string,
  body: object,
  headers: [string, string][] = [],
): Promise<Reply> =>
  exchange(url, {
    method: 'POST',
    target,
    headers: [['Origin', url], ['Content-Type', 'application/json'], ...headers],
    body: JSON.stringify(body),
  })

async function signIn(url: string, data: string): Promise<TestOwner> {
  const link_token = new URL(await issueOwnerLink(configOf(data))).hash.slice(1)
  return new TestOwner(url, cookieOf(await postTo(url, '/api/admin/session', { link_token })))
}

const inStore = <T>(data: string, sql: string): T[] =>
  withStoreCopy(data, (store) => store.prepare<T>(sql).all())

test('every table of the store is restored, or listed with the reason why it is kept', () => {
  const tables = inStore<{ name: string }>(bridge.data, "SELECT name FROM sqlite_schema WHERE type = 'table'")
  expect(Object.keys(restorations).sort()).toEqual(tables.map(({ name }) => name).sort())
})

describe('after a restore into an empty folder', () => {
  const of = (agent: TestAgent) => at(agent, fresh.server.url)

  test('a request signed before the restore is refused, even with an unused nonce', () => {
    expect(refused.early.map(told)).toEqual(Array(3).fill([503, 'unavailable']))
    expect(refused.afterwards.status).not.toBe(503)
  })

  test('agents that existed at the backup are disabled until the owner reviews their credentials', () => {
    expect(refused.held.map(told)).toEqual(Array(5).fill([403, 'agent_disabled']))
    expect(told(refused.revoked)).toEqual([401, 'credential_revoked'])
    const listed = fresh.report.credentials.map(({ agent, state }) => [agent, state])
    expect(listed.sort()).toEqual(['ada', 'ben', 'dan', 'legacy', 'taken'].map((name) => [name, 'held']))
  })

  test('the node refuses every old session, grant, challenge, code, link and token, and accepts a new session', async () => {
    const { ada, ben, clock } = bridge
    const { url } = fresh.server
    // The session in the backup, and the one started after it.
    expect(told(await of(ben).call(inbox))).toEqual([409, 'session_fenced'])
    expect(told(await of(ada).call({ ...inbox, session: later.lostSession }))).toEqual([
      409,
      'session_unknown',
    ])
    const takeover_grant = people.grant
    expect(told(await of(people.taken).requestSession(undefined, { takeover_grant }))).toEqual([
      401,
      'grant_invalid',
    ])
    expect((await of(people.taken).requestSession()).status).toBe(200)
    const { challenge } = people
    expect(told(await of(people.dan).requestSession(undefined, { challenge }))).toEqual([
      401,
      'challenge_invalid',
    ])
    await of(people.dan).startSession()
    await expect(enroll(url, people.code, clock)).rejects.toThrow('enrollment_revoked')
    const link_token = people.link
    expect(told(await postTo(url, '/api/admin/session', { link_token }))).toEqual([401, 'sign_in_failed'])
    expect(told(await new TestOwner(url, bridge.owner.cookie).call({ target: '/api/admin' }))).toEqual([
      401,
      'owner_session_expired',
    ])
    const bearer: [string, string] = ['Authorization', `Bearer ${people.telemetry}`]
    expect(told(await postTo(url, '/api/telemetry/host', {}, [bearer]))).toEqual([401, 'unauthenticated'])
    const over = fresh.report.grants.map(({ kind }) => kind)
    expect(over.sort()).toEqual([
      'enrollment',
      'owner_session',
      'sign_in_link',
      'takeover',
      'telemetry_token',
    ])
  })

  test('generations continue above the highest one ever issued, and an old claim is lost', async () => {
    const { ben, ada, clock } = bridge
    const again = await come(ben, fresh.server.url)
    const generation = again.session?.generation
    expect(generation).toBeGreaterThan(Math.floor(clock().getTime() / 1000) - 3600)
    await come(ada, fresh.server.url)
    const target = `/api/v1/tasks/${people.task.id}`
    const body = { ...people.claim, result: 'done', evidence: [{ kind: 'text', value: 'x' }] }
    expect(told(await again.call({ target: `${target}/complete`, body }))).toEqual([409, 'claim_lost'])
    // The task ran to its end, as after any fencing, and may be claimed again.
    const claimed = await again.ok<{ claim: object }>({ target: `${target}/claim`, body: {} })
    expect(claimed.claim).toMatchObject({ generation: 2, session_generation: generation })
  })

  test('transfers whose bytes are missing are ended and reported to both sides; the others continue', async () => {
    const { ada, ben } = bridge
    const { uploaded, half, unbegun, direct } = people.transfers
    const as = await come(ben, fresh.server.url)
    const states = await Promise.all(
      [uploaded, half, unbegun, direct].map(async ({ id }) => (await look(as, id)).state),
    )
    expect(states).toEqual(['failed', 'cancelled', 'offered', 'accepted'])
    expect(fresh.report.transfers.map(({ transfer_id, state }) => [transfer_id, state])).toEqual([
      [uploaded.id, 'failed'],
      [half.id, 'cancelled'],
    ])
    for (const side of [ada, ben]) {
      const one = await come(side, fresh.server.url)
      const { messages } = await one.inbox('?limit=100')
      const words = messages.map(({ body }) => body).filter((body) => body.includes('restored from a backup'))
      expect(words).toEqual([expect.stringMatching(/^failed: /), expect.stringMatching(/^cancelled: /)])
    }
    // They end at the announced time, although the restored node does not know that the clock was changed.
    const end = Date.parse((await look(as, unbegun.id)).expires_at) - 600_000
    expect(Math.abs(end - Date.parse(unbegun.expires_at))).toBeLessThan(1000)
    // The endpoint belonged to the old installation; a new one may be deposited.
    expect(told(await as.call({ target: `/api/v1/transfers/${direct.id}/secret` }))).toEqual([
      404,
      'not_found',
    ])
  })

  test('the restored store is valid and records the restore', () => {
    expect(withStoreCopy(fresh.data, checkStore)).toEqual([])
    const told = inStore<{ kind: string }>(fresh.data, "SELECT kind FROM audit WHERE kind = 'node.restored'")
    expect(told).toHaveLength(1)
    expect(fresh.report).toMatchObject({ known: false, kept: null, envelope_key_made: true })
  })
})

describe('after a restore over the node itself', () => {
  const of = (agent: TestAgent) => at(agent, replaced.bridge.url)

  test('later revocations, disablings, deletions and other changes are kept, and no other agent is disabled', async () => {
    const { ada, ben, project } = bridge
    const { url, data } = replaced.bridge
    expect(told(await of(ada).requestSession())).toEqual([401, 'credential_revoked'])
    expect(told(await of(people.legacy).requestSession())).toEqual([403, 'agent_disabled'])
    expect(told(await of(ben).call(inbox))).toEqual([409, 'session_fenced'])
    const again = await come(ben, url)
    expect(
      told(
        await again.call({ target: '/api/v1/conversations', body: { recipient_agent_id: people.taken.id } }),
      ),
    ).toEqual([409, 'pairing_disabled'])
    const password = (text: string) => postTo(url, '/api/admin/session', { name: 'olu', password: text })
    expect((await password(ownerPassword)).status).toBe(401)
    expect((await password(later.newPassword)).status).toBe(200)
    const owner = await signIn(url, data)
    expect((await owner.call({ target: `/api/admin/projects/${people.doomed.id}/agents` })).status).toBe(404)
    const { json } = await owner.call({ target: `/api/admin/projects/${project.id}/agents/${ben.id}` })
    expect(json).toMatchObject({ recipient_key: { recipient: later.recipient, registered_by: 'agent' } })
    const listed = Object.fromEntries(replaced.report.credentials.map(({ agent, state }) => [agent, state]))
    expect(listed).toEqual({
      ada: 'revoked_since',
      ben: 'good',
      dan: 'good',
      taken: 'good',
      legacy: 'agent_disabled',
    })
  })

  test('transfers whose packages are still stored continue', async () => {
    const { uploaded, half } = people.transfers
    const as = await come(bridge.ben, replaced.bridge.url)
    expect([(await look(as, uploaded.id)).state, (await look(as, half.id)).state]).toEqual([
      'accepted',
      'offered',
    ])
    const reply = await as.call({ target: `/api/v1/transfers/${uploaded.id}/package/file` })
    expect(reply.status).toBe(200)
  })

  test('the replaced database is kept complete and can be restored in turn', async () => {
    const { kept, known } = replaced.report
    expect(known).toBe(true)
    const back = join(folder, 'back')
    const report = await restoreTo(back, { file: databasePath(kept ?? ''), acceptCredentials: true })
    expect(report.credentials.map(({ agent, state }) => `${agent} ${state}`).sort()).toEqual([
      'ben good',
      'dan good',
      'legacy agent_disabled',
      'taken good',
    ])
    expect(withStoreCopy(back, checkStore)).toEqual([])
  })
})
