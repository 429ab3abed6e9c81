/**
 * The server records every kind of the list. A kind that is missing from the list does not compile, because
 * the type of a record comes from it.
 *
 * Contract §10 "Audit kinds are one list".
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AuditKind, auditKinds } from '../../../sdk/contract/audit-kinds.ts'
import { fileOf, look, offer, act as onTransfer, upload } from '../../support/files.ts'
import { act, createTask, getTask } from '../../support/tasks.ts'
import { openStore } from '../../support/test-store.ts'
import { kindsOfEndpoints } from '../endpoints/recorded.ts'
import { type Pair, startWorld, type World } from '../endpoints/world.ts'

/** Kinds that host commands and maintenance record, with the test that checks the record. */
const seenElsewhere = {
  'audit.removed': '../maintenance/retention.test.ts',
  'envelope_key.rotated': '../envelope/rotation.test.ts',
  'message.removed': '../maintenance/retention.test.ts',
  'node.restored': '../backups/restore.test.ts',
} as const satisfies Partial<Record<AuditKind, string>>

let world: World
let pair: Pair

beforeAll(async () => {
  world = await startWorld()
  pair = await world.pair()
})
afterAll(() => world.close())

function recorded(): string[] {
  const database = openStore(world.bridge.data)
  try {
    return database.prepare<string>('SELECT DISTINCT kind FROM audit').pluck().all()
  } finally {
    database.close()
  }
}

test('every kind of the list is recorded, and no other kind', async () => {
  const { project, ada, ben } = pair
  const { id: administrator } = await world.administrator()
  await world.assign(administrator, project.id, true)
  await world.assign(administrator, project.id, false)
  const target = `/api/admin/administrators/${administrator}/state`
  for (const state of ['disabled', 'enabled']) await world.owner.ok({ target, body: { state } })
  await world.setPairing(pair, false)
  await world.setPairing(pair, true)
  const other = await world.unenrolled(project.id)
  for (const state of ['disabled', 'enabled'] as const) await world.setAgent(project.id, other, state)
  await world.linkToken()
  await world.telemetryToken()

  const bytes = fileOf(100)
  const sent = await offer({ from: ada, to: ben, bytes })
  await upload(ada, sent, bytes)
  expect((await onTransfer(ada, sent.id, 'cancel')).status).toBe(200)
  const [asked, late] = [await createTask(ada, ben), await createTask(ada, ben)]
  await act(ben, asked.id, 'claim')
  await act(ada, asked.id, 'cancel')
  await act(ben, late.id, 'claim')
  const offered = await offer({ from: ada, to: ben, bytes, fields: { ttl_seconds: 3600 } })
  world.bridge.clock.advance(3601)
  expect((await getTask(ada, late.id)).state).toBe('open')
  expect((await look(ada, offered.id)).state).toBe('expired')
  await act(ben, late.id, 'claim')
  expect((await onTransfer(ada, offered.id, 'cancel')).status).toBe(410)
  await ada.ok({ target: '/api/v1/transfers' })

  const here = recorded()
  const list = Object.keys(auditKinds)
  expect(here.filter((kind) => !list.includes(kind))).toEqual([])
  const all = new Set<string>([...here, ...kindsOfEndpoints, ...Object.keys(seenElsewhere)])
  expect(list.filter((kind) => !all.has(kind))).toEqual([])
})

test.each(Object.entries(seenElsewhere))('%s is asserted in %s', (kind, file) => {
  expect(readFileSync(new URL(file, import.meta.url), 'utf8')).toContain(kind)
})
