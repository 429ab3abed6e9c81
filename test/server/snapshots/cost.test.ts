/**
 * The cost of a snapshot does not depend on the stored rows of a project.
 *
 * By default the test checks the plan of every query. With BRIDGE_ROWS=100000 it also measures, beside a
 * project of a thousand rows.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { contract } from '../../../sdk/contract/index.ts'
import type { Context } from '../../../server/context.ts'
import { unitDb } from '../../../server/database/dialect.ts'
import { loneNode } from '../../../server/database/nodes.ts'
import { Statements, UnitConnection } from '../../../server/database/sqlite/connection.ts'
import { createOwnerViews } from '../../../server/delivery/owner-views.ts'
import { createPresence } from '../../../server/delivery/presence.ts'
import { createPresenceChanges } from '../../../server/delivery/presence-changes.ts'
import type { OwnerCaller } from '../../../server/identity/callers.ts'
import { getSnapshot } from '../../../server/snapshots/actions.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { sqliteOnly } from '../../support/one-store.ts'
import { onFile } from '../../support/sqlite-file.ts'

sqliteOnly('test/server/postgres/plans.test.ts')

const rows = Number(process.env.BRIDGE_ROWS ?? 0)

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

/** Returns every statement of one snapshot, with its values. */
async function statementsOf(projectId: string): Promise<string[]> {
  const statements: string[] = []
  const path = join(bridge.data, 'bridge.db')
  const database = new Database(path, { readonly: true, verbose: (text) => statements.push(String(text)) })
  onTestFinished(() => {
    database.close()
  })
  const db = unitDb(new UnitConnection(new Statements(database)))
  const session = onFile(
    bridge.data,
    (each) =>
      each.prepare('SELECT id AS session_id, token_sha256 FROM owner_sessions').get() as Pick<
        OwnerCaller,
        'session_id' | 'token_sha256'
      >,
  )
  const caller: OwnerCaller = {
    ...{ kind: 'owner', user_id: '', name: 'olu', role: 'owner', ...session },
    ...{ endpoint: contract.owner.snapshots.get, request_id: '' },
  } as OwnerCaller
  const same = (iso: string) => iso
  const steady = { now: () => new Date(), wall: same, steadyOf: (_id: string, at: string) => at }
  const context = {
    clock: () => new Date(),
    steady,
    nodes: loneNode('', undefined, () => new Date()),
    presence: createPresence(steady, 1),
    presenceChanges: createPresenceChanges(),
    ownerViews: createOwnerViews(),
    read: (unit: (of: typeof db) => Promise<unknown>) => unit(db),
  } as unknown as Context
  await getSnapshot(context, caller, projectId)
  return statements
}

test('every query of a snapshot searches an index and sorts nothing', async () => {
  const { project, ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  onFile(bridge.data, (database) =>
    database
      .prepare(
        `INSERT INTO audit SELECT printf('%s%012x', substr(id, 1, 24), 7), at, 'conversation.guard_tripped', project_id, 'agent',
          actor_id, actor_name, 'conversation', ?, NULL, '{}' FROM audit WHERE project_id = ? ORDER BY id DESC LIMIT 1`,
      )
      .run(conversation, project.id),
  )
  const statements = await statementsOf(project.id)
  expect(statements.length).toBeGreaterThan(9)
  const plans = onFile(bridge.data, (database) =>
    statements.map((text) => ({
      text,
      steps: database
        .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
        .all()
        .map(({ detail }) => detail),
    })),
  )
  // Counted rows are limited first: `found` has at most that many.
  const isWhole = (step: string) => /^SCAN (?!found\b)|TEMP B-TREE/.test(step)
  expect(plans.filter(({ steps }) => steps.some(isWhole))).toEqual([])
  expect(plans.filter(({ steps }) => steps.length === 0)).toEqual([])
  const used = plans.flatMap(({ steps }) => steps.flatMap((step) => /INDEX (\w+)/.exec(step)?.[1] ?? []))
  const narrow = ['audit_by_kind', 'enrollments_pending', 'messages_owner_replies', 'messages_to_owner']
  expect(used).toEqual(expect.arrayContaining(narrow))
})

/** Creates a project with this many rows of everything that grows. */
function stored(count: number): string {
  const projectId = randomUUID()
  onFile(bridge.data, (database) =>
    database.transaction(() => {
      const sql = `INSERT INTO projects (id, name, description, state, created_at, updated_at)
        SELECT ?, ?, '', 'active', created_at, created_at FROM projects LIMIT 1`
      database.prepare(sql).run(projectId, projectId)
      const agents = Array.from({ length: 10 }, () => randomUUID())
      const agent =
        database.prepare(`INSERT INTO agents SELECT ?, ?, NULL, ?, '', '', '', '', NULL, 'enabled', 0, created_at
        FROM projects WHERE id = ?`)
      for (const id of agents) agent.run(id, projectId, id, projectId)
      const kinds = [
        'message.sent',
        'message.acknowledged',
        'session.started',
        'task.failed',
        'enrollment.reused',
      ]
      const audit = database.prepare(
        `INSERT INTO audit VALUES (?, ?, ?, ?, 'agent', ?, 'ada', 'thing', ?, NULL, '{}')`,
      )
      const conversation = randomUUID()
      database
        .prepare(`INSERT INTO conversations VALUES (?, ?, 'owner', ?, NULL, ?, 0, NULL, ?)`)
        .run(conversation, projectId, agents[0], count, new Date().toISOString())
      const message =
        database.prepare(`INSERT INTO messages (id, project_id, conversation_id, sequence, sender_kind,
        sender_agent_id, sender_name, recipient_kind, recipient_agent_id, type, body, encoding, root_id, hops, created_at, offers,
        offered_generation, acknowledged_at)
        VALUES (?, ?, ?, ?, 'agent', ?, 'ada', 'owner', ?, 'question', 'hello', 'text', ?, 0, ?, 0, 0, ?)`)
      for (let index = 0; index < count; index += 1) {
        const at = new Date(Date.now() - (count - index) * 10)
        const time = at.getTime().toString(16).padStart(12, '0')
        const id = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${randomUUID().slice(24)}`
        const iso = at.toISOString()
        audit.run(id, iso, kinds[index % kinds.length], projectId, agents[index % 10], randomUUID())
        const acknowledged = index % 2 === 0 ? iso : null
        const by = agents[0]
        message.run(randomUUID(), projectId, conversation, index + 1, by, by, id, iso, acknowledged)
      }
    })(),
  )
  return projectId
}

const median = (all: number[]): number => all.toSorted((one, other) => one - other)[all.length >> 1] ?? 0

test.runIf(rows > 0)(`a snapshot of ${rows} rows costs as much as one of a thousand`, async () => {
  const [few, many] = [stored(1000), stored(rows)]
  const times: Record<string, number[]> = { [few]: [], [many]: [] }
  for (let turn = 0; turn < 60; turn += 1) {
    for (const id of [few, many]) {
      const started = performance.now()
      await bridge.owner.ok({ target: `/api/admin/projects/${id}` })
      times[id]?.push(performance.now() - started)
    }
  }
  const [fewMs, manyMs] = [median(times[few] ?? []), median(times[many] ?? [])]
  process.stderr.write(
    `snapshot, median ms: 1000 rows ${fewMs.toFixed(2)}, ${rows} rows ${manyMs.toFixed(2)}\n`,
  )
  expect(manyMs).toBeLessThan(2 * fewMs)
})
