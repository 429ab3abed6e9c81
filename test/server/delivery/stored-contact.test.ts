/** Contact is stored even if the request that made it changed nothing else. Contract §5, §6. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { openCounted } from '../../support/counted.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { withStore } from '../../support/test-store.ts'
import { lookUp, until } from './listeners.ts'

let own: TestBridge
let release: () => void

describe('across a restart', () => {
  beforeEach(async () => {
    own = await startBridge()
    release = own.clock.hold()
  })
  afterEach(async () => {
    release()
    await own.close()
  })

  /** Restarts the server and lets another instance try to replace the session after these seconds. */
  async function replacedAfter(seconds: number): Promise<unknown> {
    own = await own.restart()
    own.clock.advance(seconds)
    const { status, json } = await own.ada.requestSession(randomUUID())
    return (json as { error?: string }).error ?? status
  }

  test('contact by a refused request keeps the session alive', async () => {
    own.clock.advance(80)
    const contactMs = own.clock().getTime()
    expect((await own.ada.call({ target: `/api/v1/messages/${randomUUID()}` })).status).toBe(404)
    own.clock.advance(2)
    await until(
      () => lookUp(own, 'SELECT last_contact_at FROM sessions WHERE agent_id = ?', own.ada.id),
      (at) => Date.parse(String(at)) > contactMs - 2000,
    )
    expect(await replacedAfter(20)).toBe('session_active')
  })

  test('a resumed session is alive, however long it was silent before', async () => {
    own.clock.advance(200)
    expect((await own.ada.requestSession()).json).toMatchObject({ resumed: true })
    expect(await replacedAfter(20)).toBe('session_active')
  })
})

test.skipIf(!isOnPostgres)('contact is stored if another request of its group is refused', async () => {
  const world = await openCounted({ agents: 3, senders: 1 })
  try {
    const [first, lasts, refused] = world.people
    const contacts = () =>
      withStore(world.data, (store) =>
        store.prepare('SELECT last_contact_at FROM sessions WHERE agent_id = ?').get(lasts?.id ?? ''),
      ) as { last_contact_at: string }
    const before = contacts().last_contact_at
    const list = { target: '/api/v1/inbox' }
    // Such a request runs after those that name what they touch.
    const unknownTransfer = { target: `/api/v1/transfers/${randomUUID()}` }
    const replies = await world.inOneGroup([
      async () => first?.call(list),
      async () => lasts?.call(list),
      async () => refused?.call(unknownTransfer),
    ])
    expect(replies.map((reply) => reply?.status)).toEqual([200, 200, 404])
    expect(contacts().last_contact_at > before).toBe(true)
  } finally {
    await world.close()
  }
})
