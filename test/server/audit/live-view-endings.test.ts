/**
 * A waiting live view ends as soon as the change that removes its permission is committed. Contract §6 "reach
 * open waits at once", §10 "Password change or disabling ends all".
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { TestOwner } from '../../support/owner.ts'
import { startWorld, type World } from '../endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

interface View {
  readonly projectId: string
  readonly id: string
  readonly by: TestOwner
}

const password = 'a password of an administrator'
const session = '/api/admin/session'

const endings: readonly (readonly [by: string, code: string, end: (view: View) => Promise<unknown>])[] = [
  [
    'its password changes',
    'owner_session_expired',
    ({ by }) => by.ok({ target: `${session}/password`, body: { new_password: password } }),
  ],
  ['it signs out', 'owner_session_expired', ({ by }) => by.ok({ target: `${session}/close`, body: {} })],
  [
    'its sign-in is revoked',
    'owner_session_expired',
    async ({ by }) => {
      const { id } = await by.ok<{ id: string }>({ target: session })
      await by.ok({ target: `/api/admin/sessions/${id}/revoke`, body: {} })
    },
  ],
  [
    'it is disabled',
    'owner_session_expired',
    ({ id }) =>
      world.owner.ok({ target: `/api/admin/administrators/${id}/state`, body: { state: 'disabled' } }),
  ],
  ['the project is taken from it', 'not_found', ({ id, projectId }) => world.assign(id, projectId, false)],
  [
    'the project is deleted',
    'not_found',
    async ({ projectId }) => {
      const { name } = (
        await world.owner.ok<{ project: { name: string } }>({ target: `/api/admin/projects/${projectId}` })
      ).project
      await world.owner.deleteProject(projectId, name)
    },
  ],
]

describe('a waiting live view of an administrator ends immediately when', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test.each(endings)('%s', async (_by, code, end) => {
    const { id, by } = await world.administrator()
    const projectId = await world.project()
    await world.assign(id, projectId, true)
    const target = `/api/admin/projects/${projectId}/events`
    const { next_after } = await by.ok<{ next_after: string }>({ target })
    const waiting = by.call({ target: `${target}?after=${next_after}&kind=task.created&wait_seconds=20` })
    // After two more answers the request is waiting. The periodic recheck never comes, because the time of
    // its timer stands still.
    await by.ok({ target })
    await by.ok({ target })
    await end({ projectId, id, by })
    expect((await waiting).json).toMatchObject({ error: code })
  })
})
