/** Refusals for lack of a right are audited, at most once an hour for each actor and code. Contract §10. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import type { AuditList } from '../../../sdk/contract/owner/audit.ts'
import { createRefusals } from '../../../server/identity/refusals.ts'
import { createTask } from '../../support/tasks.ts'
import { expectRefusal } from '../endpoints/answers.ts'
import { startWorld, type World } from '../endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

const refused = async (audit: string) => {
  const target = `${audit}?kind=access.refused&limit=100`
  return (await world.owner.ok<AuditList>({ target })).audit
}

test('an agent that does what only the other side may do is recorded in its project, once an hour', async () => {
  const { project, ada, ben } = await world.pair()
  const { id } = await createTask(ada, ben)
  const decline = () =>
    ada.call({ target: `/api/v1/tasks/${id}/decline`, body: { reason: 'a secret reason' } })
  for (let time = 0; time < 3; time += 1) expectRefusal(await decline(), 'not_permitted')
  const audit = `/api/admin/projects/${project.id}/audit`
  expect(await refused(audit)).toMatchObject([
    {
      actor: { kind: 'agent', id: ada.id },
      project_id: project.id,
      subject: { type: 'endpoint', id: null },
      details: { code: 'not_permitted', endpoint: 'tasks.decline' },
    },
  ])
  expect(JSON.stringify(await refused(audit))).not.toContain('secret')
})

test('an administrator that does what only the owner may do is recorded among the records of the node', async () => {
  const { id, by } = await world.administrator()
  for (const target of ['/api/admin/administrators', '/api/admin/telemetry'])
    expectRefusal(await by.call({ target }), 'not_permitted')
  const records = (await refused('/api/admin/audit')).filter(({ actor }) => actor.id === id)
  expect(records).toMatchObject([
    { actor: { kind: 'owner' }, details: { code: 'not_permitted', endpoint: 'owner.administrators.list' } },
  ])
})

test('neither a stranger, nor a wrong id, nor a project of others leaves a record', async () => {
  const before = (await refused('/api/admin/audit')).length
  const { project, ada } = await world.pair()
  const { by } = await world.administrator()
  expectRefusal(await by.call({ target: `/api/admin/projects/${project.id}` }), 'not_found')
  expectRefusal(
    await by.call({ target: '/api/admin/administrators', override: { Cookie: null } }),
    'owner_session_expired',
  )
  expectRefusal(await ada.call({ target: `/api/v1/tasks/${project.id}` }), 'not_found')
  expect((await refused('/api/admin/audit')).length).toBe(before)
  expect(await refused(`/api/admin/projects/${project.id}/audit`)).toEqual([])
})

test('the records are bounded for each actor and code, and in total', () => {
  let nowMs = 0
  const refusals = createRefusals(() => nowMs)
  const hourMs = limits.refusalRecordSeconds * 1000
  expect([refusals.take('ada', 'one'), refusals.take('ada', 'one'), refusals.take('ada', 'two')]).toEqual([
    true,
    false,
    true,
  ])
  nowMs = hourMs - 1
  expect(refusals.take('ada', 'one')).toBe(false)
  nowMs = hourMs
  expect(refusals.take('ada', 'one')).toBe(true)
  const taken = Array.from({ length: 2000 }, (_, n) => refusals.take(`agent ${n}`, 'one'))
  expect(taken.filter(Boolean)).toHaveLength(999)
})
