/** An installation on SQLite with rows of every kind, and empty databases of PostgreSQL to move it to. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import pg from 'pg'
import { expect } from 'vitest'
import { reportHost } from '../../../sdk/index.ts'
import { readConfig } from '../../../server/config.ts'
import { initServer, issueTelemetryToken } from '../../../server/host/init.ts'
import { type RunningServer, startServer } from '../../../server/server.ts'
import type { SettingName } from '../../../server/settings.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { act, fileOf, offer, upload } from '../../support/files.ts'
import { dropConnections } from '../../support/http.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import { builtClient } from '../../support/program.ts'
import { createTask } from '../../support/tasks.ts'

const rates = {
  ...{ log_level: 'silent', reserve_bytes: '0', rate_per_second: '100000', rate_burst: '100000' },
  ...{ public_per_second: '100000', public_burst: '100000', failed_auth_per_minute: '100000' },
}

const made: string[] = []

export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-move-'))
  made.push(folder)
  return folder
}

/** Removes all temporary folders. */
export function removeFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
}

/** Starts a server in this process, with the settings that its data folder has. */
export function startOn(
  data: string,
  settings: Partial<Record<SettingName, string>> = {},
): Promise<RunningServer> {
  return startServer(readConfig({ data, port: '0', ...rates, ...settings }, {}), {
    passwordCost: 4,
    ...(builtClient && { clientFolder: builtClient }),
  })
}

export interface Scene {
  readonly data: string
  readonly port: string
  readonly owner: TestOwner
  readonly projectId: string
  readonly ada: TestAgent
  readonly ben: TestAgent
  readonly conversationId: string
  /** Bodies that ben has not acknowledged, oldest first. */
  readonly bodies: readonly string[]
  /** A request of ada and its first answer. */
  readonly first: { readonly key: string; readonly body: object; readonly answer: string }
  readonly task: { readonly id: string; readonly claim: object }
  readonly transferId: string
  readonly file: Buffer
  /** The key that ben has registered. */
  readonly recipient: string
  /** A transfer whose endpoint ada has deposited. */
  readonly directId: string
  readonly telemetryToken: string
}

const controls = Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(code)).join('')

const endpoint = 'https://tunnel.example'

const report = (baseUrl: string, token: string) =>
  reportHost({
    ...{ baseUrl, token },
    sample: {
      ...{ host: 'mill', sampled_at: new Date().toISOString(), cpu_percent: 12.5 },
      ...{ memory_used_bytes: 1024, memory_total_bytes: 2 ** 36 },
    },
  })

/** Makes an installation on SQLite, and stops its server. */
export async function makeScene(): Promise<Scene> {
  const data = temporary()
  const config = readConfig({ data, port: '0', ...rates }, {})
  const { setupLink } = await initServer(config)
  const server = await startOn(data)
  try {
    const owner = await setUpOwner(server.url, setupLink)
    const { id: projectId } = await owner.createProject('demo')
    const agent = async (name: string) => {
      const { id } = await owner.createAgent(projectId, name)
      const code = await owner.enrollmentCode(projectId, id)
      const enrolled = await enroll(server.url, code, () => new Date())
      await enrolled.startSession()
      return enrolled
    }
    const [ada, ben] = [await agent('ada'), await agent('ben')]
    const conversationId = await ada.conversationWith(ben.id)
    const bodies = [`${controls}\u00100\u0010 \u{1f309}`, 'x'.repeat(64 * 1024), 'third']
    for (const body of bodies) await ada.send(conversationId, ben.id, body)
    const key = randomBytes(16).toString('hex')
    const body = {
      ...{ conversation_id: conversationId, recipient_agent_id: ben.id, type: 'note', body: 'with a key' },
    }
    const { text: answer } = await ada.call({ target: '/api/v1/messages', body, key })
    const { id: taskId } = await createTask(ada, ben)
    const { claim } = await ben.ok<{ claim: object }>({ target: `/api/v1/tasks/${taskId}/claim`, body: {} })
    const file = fileOf(200_000)
    const offered = await offer({ from: ada, to: ben, bytes: file, partSize: 70_000 })
    await act(ben, offered.id, 'accept')
    await upload(ada, offered, file)
    const { id: directId } = await offer({ from: ada, to: ben, bytes: file, fields: { mode: 'direct' } })
    await act(ben, directId, 'accept')
    await act(ada, directId, 'secret', {
      ...{ endpoint, token: 'x'.repeat(43), helper_mode: 'download' },
      expires_at: new Date(Date.now() + 600_000).toISOString(),
    })
    const recipient = await identityToRecipient(await generateIdentity())
    await ben.ok({ target: '/api/v1/recipient-key', body: { recipient }, key: null })
    const telemetryToken = await issueTelemetryToken(config)
    await report(server.url, telemetryToken)
    const messages = await unacknowledged(ben)
    return {
      ...{ data, port: String(server.port), owner, projectId, ada, ben, conversationId },
      bodies: messages.map((each) => each.body),
      first: { key, body, answer },
      task: { id: taskId, claim },
      ...{ transferId: offered.id, file, directId, recipient, telemetryToken },
    }
  } finally {
    await server.stop()
    dropConnections(server.url)
  }
}

export interface TestDatabase {
  readonly url: string
  query<R extends pg.QueryResultRow>(text: string): Promise<R[]>
  drop(): Promise<void>
}

const serverUrl = (): string => process.env.BRIDGE_TEST_POSTGRES ?? ''

export async function makeDatabase(): Promise<TestDatabase> {
  const name = `move_${randomBytes(8).toString('hex')}`
  await onServer(serverUrl(), `CREATE DATABASE ${name}`)
  const url = new URL(serverUrl())
  url.pathname = `/${name}`
  return {
    url: url.href,
    query: (text) => onServer(url.href, text),
    drop: async () => void (await onServer(serverUrl(), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  }
}

async function onServer<R extends pg.QueryResultRow>(url: string, text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<R>(text)
    return rows
  } finally {
    await client.end()
  }
}

const unacknowledged = async (by: TestAgent) => {
  const target = '/api/v1/inbox/messages'
  return (await by.ok<{ messages: { id: string; body: string }[] }>({ target })).messages
}

/**
 * Checks what clients see: inboxes, claims, packages, sealed endpoints, keys, load, sign-ins, and the answer to a
 * repeated request.
 */
export async function expectServed(scene: Scene): Promise<void> {
  const { ada, ben, owner, first, task, transferId } = scene
  const messages = await unacknowledged(ben)
  expect(messages.map(({ body }) => body)).toEqual(scene.bodies)
  const again = await ada.call({ target: '/api/v1/messages', body: first.body, key: first.key })
  expect(again.text).toBe(first.answer)
  const { state, claim } = await ben.ok<{ state: string; claim: object }>({
    target: `/api/v1/tasks/${task.id}`,
  })
  expect({ state, claim }).toEqual({ state: 'claimed', claim: task.claim })
  const { status, bytes } = await ben.call({ target: `/api/v1/transfers/${transferId}/package/file` })
  expect({ status, isSame: bytes.equals(scene.file) }).toEqual({ status: 200, isSame: true })
  const secret = await ben.ok({ target: `/api/v1/transfers/${scene.directId}/secret` })
  expect(secret).toMatchObject({ endpoint })
  const keyOf = `/api/v1/conversations/${scene.conversationId}/recipient-key`
  expect(await ada.ok({ target: keyOf })).toMatchObject({ recipient: scene.recipient })
  const telemetry = await owner.ok<{ hosts: object[] }>({ target: '/api/admin/telemetry' })
  expect(telemetry.hosts).toContainEqual(expect.objectContaining({ host: 'mill', cpu_percent: 12.5 }))
  await report(new URL(ada.baseUrl).origin, scene.telemetryToken)
  const { project } = await owner.ok<{ project: { id: string } }>({
    target: `/api/admin/projects/${scene.projectId}`,
  })
  expect(project.id).toBe(scene.projectId)
  const sent = await ada.send(scene.conversationId, ben.id, 'after the move')
  const now = await unacknowledged(ben)
  expect(now.at(-1)?.id).toBe(sent.id)
}
