/**
 * Deleting a project: it is unknown immediately, none of its rows and bytes remain, and there is one audit
 * record.
 *
 * The tables come from the database itself: a table added later must get a row here and is then searched too.
 *
 * Spec §4.3 "permanently deletes owned project data"; contract §10.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removals } from '../../server/projects/removal.ts'
import { enroll } from '../support/agent.ts'
import { act, offer, putPart } from '../support/files.ts'
import { isOnPostgres } from '../support/postgres.ts'
import * as tasks from '../support/tasks.ts'
import { openStore, withStore } from '../support/test-store.ts'
import { expectRefusal } from './endpoints/answers.ts'
import { startWorld, type World } from './endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

/** A text that is in every text of the project and nowhere else. */
const canary = (what: string) => `canary-${what}-6f2d9a51c7`
const canaryBytes = Buffer.from('6f2d9a51c7')

type Dump = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

function dump(data: string): Dump {
  const database = openStore(data)
  try {
    return Object.fromEntries(
      database
        .tables()
        .map((table) => [table, database.prepare<Record<string, unknown>>(`SELECT * FROM ${table}`).all()]),
    )
  } finally {
    database.close()
  }
}

/** Returns every id that rows of the project have. */
function idsOf(store: Dump, projectId: string): ReadonlySet<unknown> {
  const rows = Object.values(store).flat()
  const mine = rows.filter(({ project_id }) => project_id === projectId).flatMap(({ id }) => id ?? [])
  return new Set([projectId, ...mine])
}

/** Counts the rows of each table that have one of these ids in a column. */
const rowsNaming = (store: Dump, ids: ReadonlySet<unknown>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(store).map(([table, rows]) => [
      table,
      rows.filter((row) => Object.values(row).some((value) => ids.has(value))).length,
    ]),
  )

const filesHolding = (data: string, bytes: Buffer): string[] =>
  readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(bytes))

const device = JSON.stringify({
  os: 'Linux',
  machine: 'c'.repeat(64),
  install: canary('device').slice(0, 40),
})

/** Creates a project with at least one row in every table. */
async function fullProject() {
  const { owner, bridge } = world
  const name = canary('name')
  const project = await owner.createProject(name, {
    description: canary('description'),
    policy: { message_budget: 1000 },
  })
  const admin = `/api/admin/projects/${project.id}`
  const environment = await owner.ok<{ id: string }>({
    target: `${admin}/environments`,
    body: { name: canary('environment'), kind: 'server', description: canary('place') },
  })
  const agentInput = {
    role_name: canary('role'),
    description: canary('agent'),
    prompt_template: canary('prompt'),
    environment_id: environment.id,
  }
  const letIn = async (who: string, fields: object = {}, its?: string) => {
    const { id } = await owner.createAgent(project.id, canary(who), agentInput)
    const code = await owner.enrollmentCode(project.id, id, fields)
    return enroll(bridge.url, code, bridge.clock, its)
  }
  const [ada, ben] = [await letIn('ada'), await letIn('ben')]
  const cy = await letIn('cy', { binding: 'device' }, device)
  for (const agent of [ada, ben]) await agent.startSession()
  await cy.challenge()
  await owner.ok({
    target: `${admin}/agents/${ada.id}/instructions`,
    body: { instructions: canary('instructions') },
  })
  const conversation = await ada.conversationWith(ben.id)
  // These messages need more than one batch of the removal.
  await Promise.all(
    Array.from({ length: 250 }, (_, n) => ada.send(conversation, ben.id, canary(`message ${n}`))),
  )
  await ada.send(await ada.conversationWith(ada.id), ada.id, canary('to the owner'))
  await owner.message(project.id, ada.id, canary('from the owner'))
  const task = { assignee_agent_id: ben.id, title: canary('title'), instructions: canary('work') }
  const { id: taskId } = await ada.ok<{ id: string }>({ target: '/api/v1/tasks', body: task })
  const claimed = await tasks.act(ben, taskId, 'claim')
  await tasks.act(ben, taskId, 'release', { ...tasks.heldBy(claimed), reason: canary('no time') })
  await owner.ok({
    target: `${admin}/tasks/${taskId}/cancel`,
    body: { reason: canary('why') },
    key: crypto.randomUUID(),
  })
  const recipient = 'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj'
  await ben.ok({ target: '/api/v1/recipient-key', body: { recipient }, key: null })
  const bytes = Buffer.from(canary('file'))
  const stored = await offer({ from: ada, to: ben, bytes, fields: { filename: `${canary('file')}.txt` } })
  await putPart(ada, stored.id, 0, bytes)
  // Only a node whose packages are in an object store writes these rows.
  withStore(bridge.data, (store) =>
    store
      .prepare('INSERT INTO transfer_parts (transfer_id, part, project_id) VALUES (?, 0, ?)')
      .run(stored.id, project.id),
  )
  const direct = await offer({ from: ada, to: ben, bytes, fields: { mode: 'direct' } })
  await act(ada, direct.id, 'secret', {
    endpoint: 'https://tunnel.example',
    token: canary('token').padEnd(43, 'x'),
    expires_at: new Date(bridge.clock().getTime() + 600_000).toISOString(),
    helper_mode: 'download',
  })
  const pending = await owner.createAgent(project.id, canary('dan'))
  await owner.enrollmentCode(project.id, pending.id)
  await owner.takeover(project.id, cy.id, { reason: canary('reason') })
  await owner.issueLegacy(project.id, pending.id)
  const kim = await world.administrator()
  await world.assign(kim.id, project.id, true)
  return { id: project.id, name, ada, ben, pending, kim }
}

const confirm = (id: string, name: string) => ({
  target: `/api/admin/projects/${id}/delete`,
  body: { confirm_name: name },
})

describe('a project with rows in every table', () => {
  test('is removed to the last row and byte, and another project is not affected', async () => {
    const { owner, bridge } = world
    const neighbour = await world.pair()
    await neighbour.ada.send(neighbour.conversation, neighbour.ben.id, 'we stay')
    const full = await fullProject()
    const before = dump(bridge.data)
    const ids = idsOf(before, full.id)
    const theirs = idsOf(before, neighbour.project.id)
    const removed = Object.entries(removals).filter(([, removal]) => removal !== 'stays')
    const named = rowsNaming(before, ids)
    for (const [table] of removed) expect([table, (named[table] ?? 0) > 0]).toEqual([table, true])
    expect(filesHolding(bridge.data, canaryBytes)).not.toEqual([])

    const deleted = await owner.ok<object>(confirm(full.id, full.name))
    expect(deleted).toEqual({ id: full.id, deleted_at: expect.any(String) })

    const after = dump(bridge.data)
    const left = Object.entries(rowsNaming(after, ids)).filter(([, count]) => count > 0)
    // The row of the lane holds the id of the project and the last id of its rows.
    expect(left).toEqual([['audit', 1], ...(isOnPostgres ? [['lanes', 1]] : [])])
    const line = after.audit?.find(({ subject_id }) => subject_id === full.id)
    expect(line).toMatchObject({
      kind: 'project.deleted',
      project_id: null,
      actor_kind: 'owner',
      details: '{}',
    })
    expect(filesHolding(bridge.data, canaryBytes)).toEqual([])
    // Pages in use contain no copies of rows either, which moved rows leave behind.
    for (const id of [
      full.ada.id,
      full.ben.id,
      full.ada.enrolled.credential_id,
      full.ada.session?.id ?? '',
    ]) {
      expect(filesHolding(bridge.data, Buffer.from(id))).toEqual([])
    }
    expect(rowsNaming(after, theirs)).toEqual(rowsNaming(before, theirs))
  })

  test('is unknown to every caller, and its name can be used again', async () => {
    const { owner } = world
    const full = await fullProject()
    const code = await owner.enrollmentCode(full.id, full.pending.id)
    await owner.ok(confirm(full.id, full.name))
    expectRefusal(await owner.call(confirm(full.id, full.name)), 'not_found')
    expectRefusal(await owner.call({ target: `/api/admin/projects/${full.id}/agents` }), 'not_found')
    expectRefusal(await full.kim.by.call({ target: `/api/admin/projects/${full.id}/agents` }), 'not_found')
    expect(await full.kim.by.ok({ target: '/api/admin' })).toMatchObject({ projects: [] })
    expectRefusal(await full.ada.call({ target: '/api/v1/inbox' }), 'credential_unknown')
    await expect(enroll(world.bridge.url, code, world.bridge.clock)).rejects.toThrow('unauthenticated')
    const again = await owner.createProject(full.name)
    expect(again.id).not.toBe(full.id)
    await owner.ok(confirm(again.id, full.name))
  })
})

describe('a project', () => {
  test.each([
    ['in another case', (name: string) => name.toUpperCase()],
    ['shortened', (name: string) => name.slice(0, -1)],
    ['of another one', () => 'demo'],
    ['composed in another way', (name: string) => name.normalize('NFD')],
  ])('is not deleted if its name is given %s', async (_what, change) => {
    const name = world.name('Café')
    const { id } = await world.owner.createProject(name)
    const reply = await world.owner.call(confirm(id, change(name)))
    expect(expectRefusal(reply, 'invalid_request').details).toMatchObject({
      faults: [{ path: 'body/confirm_name' }],
    })
    expect((await world.owner.call({ target: `/api/admin/projects/${id}/agents` })).status).toBe(200)
  })

  test('of which a stopped server left one half is removed by the next start', async () => {
    const other = await world.elsewhere()
    const { id } = other.bridge.project
    await other.bridge.ada.send(
      await other.bridge.ada.conversationWith(other.bridge.ben.id),
      other.bridge.ben.id,
      canary('half'),
    )
    const again = await other.restarted((data) => {
      const database = openStore(data)
      database.prepare('UPDATE projects SET deleted_at = created_at WHERE id = ?').run(id)
      database.close()
    })
    // The row of the project itself is removed last.
    await expect.poll(() => dump(again.bridge.data).projects).toEqual([])
    expect(dump(again.bridge.data).messages).toEqual([])
    expect(filesHolding(again.bridge.data, canaryBytes)).toEqual([])
  })
})
