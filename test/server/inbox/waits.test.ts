/** Waits for the inbox: their slots, the messages that end them, and the reasons that do. Contract §6. */
import { describe, expect, test, vi } from 'vitest'
import { enroll } from '../../support/agent.ts'
import { openStore } from '../../support/test-store.ts'
import { openTwoWaits, openWait, untilListening } from '../../support/waits.ts'
import { bodiesOf, numbered, read, thirdWait, useInbox } from './scene.ts'

const its = useInbox()

describe('waiting', () => {
  test('a wait without new messages lasts its full time, although old messages are unacknowledged', async () => {
    await its.write('old')
    await read(its.bridge.ben)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const began = performance.now()
    expect(await read(its.bridge.ben, '?wait_seconds=1')).toMatchObject({ messages: [], waiting: 1 })
    expect(performance.now() - began).toBeGreaterThan(990)
    expect(timers.mock.calls.length).toBeLessThan(20)
  })

  test('a wait ends immediately with a message stored in the meantime', async () => {
    const wait = openWait(its.bridge.ben)
    await untilListening(its.bridge, its.bridge.ben)
    await its.write('now')
    expect(await wait.answer).toMatchObject({ status: 200, body: { messages: [{ body: 'now' }] } })
  })

  test('of two simultaneous reads exactly one gets each message', async () => {
    await its.write(...numbered(20))
    const pages = await Promise.all([read(its.bridge.ben, '?limit=15'), read(its.bridge.ben, '?limit=15')])
    expect(pages.flatMap(bodiesOf)).toEqual(numbered(20))
  })

  test('of two waits of one session one gets the message, and the other continues to wait', async () => {
    const waits = await openTwoWaits(its.bridge.ben)
    await its.write('for one')
    const first = await Promise.race(waits.map(({ answer }) => answer))
    expect(bodiesOf({ messages: first?.body.messages ?? [] })).toEqual(['for one'])
    expect((await read(its.bridge.ben)).messages).toEqual([])
    for (const wait of waits) await wait.leave()
    expect((await Promise.all(waits.map(({ answer }) => answer))).filter(Boolean)).toHaveLength(1)
  })

  test('a third wait of a session is refused until one of the first two ends', async () => {
    const waits = await openTwoWaits(its.bridge.ben)
    const refused = await thirdWait(its.bridge.ben)
    expect(refused.json).toMatchObject({ error: 'wait_limit', details: { limit: 2 } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await read(its.bridge.ben)).messages).toEqual([])
    expect((await thirdWait(its.bridge.ada)).status).toBe(200)

    await waits[0]?.leave()
    await expect.poll(async () => (await thirdWait(its.bridge.ben)).status).toBe(200)
    await waits[1]?.leave()
  })
})

describe('withheld messages', () => {
  const pair = (enabled: boolean) =>
    its.bridge.owner.ok({
      target: `/api/admin/projects/${its.bridge.project.id}/pairings`,
      body: { agent_ids: [its.bridge.ada.id, its.bridge.ben.id], enabled },
    })

  test('of a disabled pair arrive once the pair is enabled again, also on an open wait', async () => {
    await its.write('held back')
    await pair(false)
    expect(await read(its.bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
    await its.bridge.owner.message(its.bridge.project.id, its.bridge.ben.id, 'from the owner')
    expect(bodiesOf(await read(its.bridge.ben))).toEqual(['from the owner'])

    const wait = openWait(its.bridge.ben)
    await untilListening(its.bridge, its.bridge.ben)
    await pair(true)
    expect(await wait.answer).toMatchObject({
      status: 200,
      body: { messages: [{ body: 'held back', delivery: { attempt: 1 } }] },
    })
  })

  test.each([
    { scopes: ['tasks', 'transfers'], sees: [] },
    { scopes: ['messages:read'], sees: ['hello'] },
    { scopes: ['messages'], sees: ['hello'] },
  ])('depend on the scopes: a credential with $scopes is offered $sees', async ({ scopes, sees }) => {
    const { owner, project, ben } = its.bridge
    await its.write('hello')
    const code = await owner.enrollmentCode(project.id, ben.id, { scopes })
    const again = await enroll(its.bridge.url, code, its.bridge.clock)
    await again.startSession()
    expect(bodiesOf(await read(again))).toEqual(sees)
    expect((await read(again)).waiting).toBe(1)
  })
})

describe('a wait ends with the reason when the agent loses the right to listen', () => {
  const project = () => `/api/admin/projects/${its.bridge.project.id}`

  test.each([
    {
      what: 'its credential is revoked',
      status: 401,
      error: 'credential_revoked',
      act: () =>
        its.bridge.owner.ok({
          target: `${project()}/credentials/${its.bridge.ben.enrolled.credential_id}/revoke`,
          body: {},
        }),
    },
    {
      what: 'the agent is disabled',
      status: 403,
      error: 'agent_disabled',
      act: () =>
        its.bridge.owner.ok({
          target: `${project()}/agents/${its.bridge.ben.id}/state`,
          body: { state: 'disabled' },
        }),
    },
    {
      what: 'the project is archived',
      status: 410,
      error: 'project_archived',
      act: () => its.bridge.owner.ok({ target: `${project()}/state`, body: { state: 'archived' } }),
    },
    {
      what: 'the agent was enrolled again',
      status: 401,
      error: 'credential_revoked',
      act: async () =>
        enroll(
          its.bridge.url,
          await its.bridge.owner.enrollmentCode(its.bridge.project.id, its.bridge.ben.id),
          its.bridge.clock,
        ),
    },
    {
      what: 'its session is closed',
      status: 409,
      error: 'session_closed',
      act: () => its.bridge.ben.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null }),
    },
    {
      what: 'another process fenced its session',
      status: 409,
      error: 'session_fenced',
      act: async () => {
        const database = openStore(its.bridge.data)
        database
          .prepare("UPDATE sessions SET state = 'fenced', ended_at = started_at WHERE id = ?")
          .run(its.bridge.ben.session?.id)
        database.close()
      },
    },
  ])('$what: $error', async ({ act, status, error }) => {
    const wait = openWait(its.bridge.ben)
    await untilListening(its.bridge, its.bridge.ben)
    await act()
    const began = performance.now()
    expect(await wait.answer).toMatchObject({ status, body: { error } })
    expect(performance.now() - began).toBeLessThan(10_000)
  })
})
