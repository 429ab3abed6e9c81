/**
 * Secrets that were used in every way appear nowhere: not in the most verbose log, an error, a list, or the
 * audit log. They are also not in the arguments or environment of the process, and in no page of the store.
 *
 * Reliability T44, T45; contract §10, §12.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { endpoints } from '../../sdk/contract/index.ts'
import { generateKeyPair } from '../../sdk/signing/keys.ts'
import { backUp } from '../../server/host/backups/backup.ts'
import { claimBody, enroll, legacyAgent, type TestAgent } from '../support/agent.ts'
import { freePort } from '../support/free-port.ts'
import { exchange, type Reply } from '../support/http.ts'
import { cookieOf, ownerPassword, setUpOwner, TestOwner } from '../support/owner.ts'
import { isOnPostgres } from '../support/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { openStore, storedBytes } from '../support/test-store.ts'

/** The secret as text, and as the bytes and hex digits that a base64url token encodes. */
function formsOf(secret: string): Buffer[] {
  const forms = [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]
  const isToken = /^[A-Za-z0-9_-]{22,}$/.test(secret)
  const bytes = Buffer.from(secret, 'base64url')
  return [
    ...forms.map((form) => Buffer.from(form)),
    ...(isToken ? [bytes, Buffer.from(bytes.toString('hex'))] : []),
  ]
}

test('no secret is left anywhere', async () => {
  const metricsPort = String(await freePort())
  const node = await startServerProcess({ settings: { log_level: 'trace', metrics_port: metricsPort } })
  onTestFinished(() => node.close())
  const now = () => new Date()
  const secrets: Record<string, string> = { 'set-up token': new URL(node.setupLink).hash.slice(1) }
  /** Bodies may be in the store, and nowhere else. */
  const body = `canary-${randomBytes(12).toString('hex')}`
  const replies: Reply[] = []

  const owner = await setUpOwner(node.url, node.setupLink)
  const tokenOf = (cookie: string) => cookie.split('=')[1] ?? ''
  secrets['owner cookie'] = tokenOf(owner.cookie)
  secrets['owner password'] = ownerPassword
  const post = async (target: string, content: unknown, by?: TestOwner) => {
    const headers = [
      ['Origin', node.url],
      ['Content-Type', 'application/json'],
      ...(by ? [['Cookie', by.cookie]] : []),
    ] as [string, string][]
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    const reply = await exchange(node.url, { method: 'POST', target, headers, body: text })
    replies.push(reply)
    return reply
  }

  const project = await owner.createProject('demo')
  const admin = `/api/admin/projects/${project.id}`
  const { id: adaId } = await owner.createAgent(project.id, 'ada')
  const code = await owner.enrollmentCode(project.id, adaId)
  secrets['claimed code'] = code
  const ada = await enroll(node.url, code, now)
  secrets['private key'] = ada.keys.privateKey.export({ format: 'jwk' }).d ?? ''
  await ada.startSession()
  const device = JSON.stringify({ os: 'Linux', machine: 'd'.repeat(64), install: 'e'.repeat(36) })
  const { id: benId } = await owner.createAgent(project.id, 'ben')
  const ben = await enroll(
    node.url,
    await owner.enrollmentCode(project.id, benId, { binding: 'device' }),
    now,
    device,
  )
  secrets['used challenge'] = await ben.challenge()
  await ben.startSession(undefined, { challenge: secrets['used challenge'] })
  secrets['open challenge'] = await ben.challenge()
  const { id: cyId } = await owner.createAgent(project.id, 'cy')
  secrets['pending code'] = await owner.enrollmentCode(project.id, cyId)
  const { id: danId } = await owner.createAgent(project.id, 'dan')
  const issued = await owner.issueLegacy(project.id, danId)
  secrets['legacy secret'] = issued.secret
  const dan = legacyAgent(
    node.url,
    { ...ada.enrolled, credential_id: issued.credential.id },
    issued.secret,
    now,
  )
  await dan.startSession()
  const ways = await deposits(ada, danId, secrets)
  await dan.ok({ target: `${ways.read}/accept`, body: {}, key: null })
  expect((await dan.ok<{ token: string }>({ target: `${ways.read}/secret` })).token).toBe(
    secrets['read token'],
  )
  secrets['open grant'] = (await owner.takeover(project.id, adaId)).grant
  secrets['used grant'] = (await owner.takeover(project.id, benId)).grant
  await ben.startSession(crypto.randomUUID(), { takeover_grant: secrets['used grant'] })
  const made = await owner.ok<{ administrator: { id: string }; link: string }>({
    target: '/api/admin/administrators',
    body: { name: 'kim' },
  })
  secrets['followed link'] = new URL(made.link).hash.slice(1)
  const signedIn = await post('/api/admin/session', { link_token: secrets['followed link'] })
  replies.splice(0)
  const kim = new TestOwner(node.url, cookieOf(signedIn))
  secrets['administrator cookie'] = tokenOf(kim.cookie)
  secrets['administrator password'] = `chosen ${randomBytes(9).toString('hex')}`
  await kim.ok({
    target: '/api/admin/session/password',
    body: { new_password: secrets['administrator password'] },
  })
  const target = `/api/admin/administrators/${made.administrator.id}/link`
  secrets['open link'] = new URL((await owner.ok<{ link: string }>({ target, body: {} })).link).hash.slice(1)
  await owner.message(project.id, danId, body)
  await dan.send(await dan.conversationWith(danId), danId, body)

  // Each secret is sent where it is wrong, in ways that a careless message would repeat.
  secrets['wrong password'] = `wrong ${randomBytes(9).toString('hex')}`
  await post('/api/admin/session', { name: 'olu', password: secrets['wrong password'] })
  for (const secret of Object.values(secrets)) {
    await post('/api/admin/session', { link_token: `${secret.replace(/[^A-Za-z0-9_-]/g, '-')}-` })
    await post('/api/admin/session', `{"name":"olu","password":"${secret}"`)
    await post('/api/admin/session', { name: 'olu', password: [secret] })
    await post(`${admin}/environments`, { name: 7, kind: secret }, owner)
    await post('/api/v1/enrollments/claim', { code: secret, public_key: secret, proof: secret, client: {} })
    replies.push(await ada.call({ target: '/api/v1/messages', body: { body: secret, type: secret } }))
    const authorization = {
      Authorization: `AgentKey ${issued.credential.id}.${secret}x`.replace(/[^ -~]/g, ''),
    }
    replies.push(await dan.call({ target: '/api/v1/inbox', override: authorization }))
    const astray = { endpoint: secret, token: secret, expires_at: secret, helper_mode: 'download' }
    replies.push(await dan.call({ target: `${ways.read}/secret`, body: astray }))
    const posing = { ...astray, endpoint: 'https://a.example', expires_at: '2100-01-01T00:00:00.000Z' }
    replies.push(await dan.call({ target: `${ways.read}/secret`, body: posing }))
    replies.push(await dan.call({ target: `/api/v1/inbox?limit=${encodeURIComponent(secret)}` }))
  }
  await post('/api/v1/enrollments/claim', claimBody(code, generateKeyPair()))
  await post('/api/admin/setup', { token: secrets['set-up token'], name: 'olu', password: ownerPassword })
  await post(`${admin}/messages`, { recipient_agent_id: danId, body, surplus: body }, owner)
  expect(new Set(replies.map(({ status }) => status))).not.toContain(200)

  // Every list and every object that an owner can read, except those that show bodies of messages.
  const showBodies = new Set(['owner.conversations.history', 'owner.inbox.list', 'owner.inbox.ofProject'])
  const read: Reply[] = []
  for (const { method, path, caller, id } of endpoints) {
    if (method !== 'GET' || caller !== 'owner' || showBodies.has(id)) continue
    const ids: Record<string, string> = {
      id: project.id,
      agent_id: danId,
      credential_id: issued.credential.id,
      transfer_id: ways.read.split('/').at(-1) ?? '',
    }
    const place = path.replace(/\{([a-z_]+)\}/g, (_, name: string) => ids[name] ?? project.id)
    read.push(await owner.call({ target: place }))
  }
  expect(read.filter(({ status }) => status === 200).length).toBeGreaterThan(10)

  const database = openStore(node.data)
  const audit = JSON.stringify(database.prepare('SELECT * FROM audit').all())
  database.close()
  const file = isOnPostgres ? undefined : await backedUp(node)
  const metrics = await exchange(`http://127.0.0.1:${metricsPort}`, {
    method: 'GET',
    target: '/metrics',
    headers: [],
  })
  expect(metrics.text).toMatch(
    /^bridge_request_duration_seconds_count\{endpoint="enrollments.claim",status="200"\} 2$/m,
  )
  const places: Record<string, Buffer> = {
    'the name of the backup': Buffer.from(file ?? ''),
    'the metrics': Buffer.from(metrics.text),
    'the log': Buffer.from(node.errors),
    'an error': Buffer.from(
      replies.map(({ text, headers }) => `${text}${JSON.stringify(headers)}`).join('\n'),
    ),
    'a list': Buffer.from(read.map(({ text }) => text).join('\n')),
    'the audit': Buffer.from(audit),
    'the arguments': readFileSync(`/proc/${node.pid}/cmdline`),
    'the environment': readFileSync(`/proc/${node.pid}/environ`),
  }
  expect(node.errors.split('\n').length).toBeGreaterThan(50)
  for (const [place, bytes] of Object.entries(places))
    expect([place, bytes.includes(body)]).toEqual([place, false])
  for (const name of readdirSync(node.data)) places[name] = readFileSync(join(node.data, name))
  if (file === undefined) places['the database'] = storedBytes(node.data)
  else places['the backup'] = readFileSync(file)
  for (const place of file === undefined ? ['the database'] : ['bridge.db-wal', 'the backup'])
    expect([place, places[place]?.includes(body)]).toEqual([place, true])
  for (const [what, secret] of Object.entries(secrets)) {
    const found = Object.entries(places).filter(([, bytes]) =>
      formsOf(secret).some((form) => bytes.includes(form)),
    )
    expect([what, found.map(([place]) => place)]).toEqual([what, []])
  }
})

/** Backs up the store of the node; returns the file. */
async function backedUp({ data, folder }: ServerProcess): Promise<string> {
  const made = await backUp({
    ...{ data, destination: folder, clock: () => new Date(), random: randomBytes },
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  return made.file
}

/**
 * Makes direct transfers whose endpoint and token are deposited, read, replaced, and deleted with their end.
 */
async function deposits(ada: TestAgent, danId: string, secrets: Record<string, string>) {
  const conversation = await ada.conversationWith(danId)
  const sha256 = createHash('sha256').update('x').digest('hex')
  const offer = {
    conversation_id: conversation,
    recipient_agent_id: danId,
    filename: 'a.txt',
    size: 1,
    sha256,
    parts: [{ index: 0, offset: 0, size: 1, sha256 }],
    mode: 'direct',
    encryption: 'none',
  }
  const ways: Record<string, string> = {}
  const deposit = async (target: string, what: string) => {
    const token = randomBytes(32).toString('base64url')
    const host = `${randomBytes(12).toString('hex')}.example`
    Object.assign(secrets, { [`${what} token`]: token, [`${what} endpoint`]: host })
    const expires_at = new Date(Date.now() + 600_000).toISOString()
    const body = { endpoint: `https://${host}`, token, expires_at, helper_mode: 'download' }
    await ada.ok({ target: `${target}/secret`, body, key: null })
  }
  for (const what of ['open', 'read', 'ended']) {
    const { id } = await ada.ok<{ id: string }>({ target: '/api/v1/transfers', body: offer })
    const target = `/api/v1/transfers/${id}`
    ways[what] = target
    if (what === 'read') await deposit(target, 'replaced')
    await deposit(target, what)
  }
  await ada.ok({ target: `${ways.ended}/cancel`, body: {}, key: null })
  return { read: ways.read ?? '' }
}
