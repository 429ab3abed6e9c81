/** The list of the inbox, which offers nothing, with and without a wait. Contract §6. */
import { describe, expect, test } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import { type OpenWait, openWait, untilListening } from '../../support/waits.ts'
import { acknowledge, bodiesOf, numbered, type Page, read, thirdWait, useInbox } from './scene.ts'

const its = useInbox()

describe('a list of the inbox', () => {
  interface Listed extends Page {
    readonly next_after: string | null
  }
  const list = (agent: TestAgent, query = '') =>
    agent.ok<Listed>({ target: `/api/v1/inbox/messages${query}` })

  test('shows every unacknowledged message in order, offered or not, and offers none', async () => {
    const [first = '', second = '', third = ''] = await its.write('one', 'two', 'three')
    await read(its.bridge.ben, '?limit=1')
    await acknowledge(its.bridge.ben, [second])
    const page = await list(its.bridge.ben)
    expect(page).toMatchObject({ has_more: false, next_after: third, waiting: 2 })
    expect(page.messages.map(({ id, delivery }) => [id, delivery.offers])).toEqual([
      [first, 1],
      [third, 0],
    ])
    // Listed messages are offered like unlisted ones.
    expect(bodiesOf(await read(its.bridge.ben))).toEqual(['three'])
  })

  test('is paged, and an empty page returns the cursor of the request', async () => {
    const ids = await its.write(...numbered(3))
    const one = await list(its.bridge.ben, '?limit=2')
    expect(one).toMatchObject({ has_more: true, next_after: ids[1], waiting: 3 })
    const two = await list(its.bridge.ben, `?limit=2&after=${one.next_after}`)
    expect([bodiesOf(two), two.has_more]).toEqual([['note 2'], false])
    expect(await list(its.bridge.ben, `?after=${ids[2]}`)).toMatchObject({ messages: [], next_after: ids[2] })
  })

  test('shows neither messages to another agent nor messages of a disabled pair', async () => {
    await its.write('for ben')
    expect((await list(its.bridge.ada)).messages).toEqual([])
    await its.bridge.owner.ok({
      target: `/api/admin/projects/${its.bridge.project.id}/pairings`,
      body: { agent_ids: [its.bridge.ada.id, its.bridge.ben.id], enabled: false },
    })
    expect(await list(its.bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
  })

  describe('a list of the inbox with a wait', () => {
    const path = '/api/v1/inbox/messages'
    const listing = (query = 'wait_seconds=20') => openWait(its.bridge.ben, query, path)
    const project = () => `/api/admin/projects/${its.bridge.project.id}`
    /** Opens a list. The node refuses one of two simultaneous lists, which shows that the other one waits. */
    async function openList(query?: string) {
      const two = [listing(query), listing(query)]
      const refused = await Promise.race(two.map(async (each) => ({ each, answer: await each.answer })))
      expect(refused.answer).toMatchObject({
        status: 429,
        body: { error: 'wait_limit', details: { limit: 1 } },
      })
      return two[refused.each === two[0] ? 1 : 0] as OpenWait
    }

    test('is answered immediately with a new message, which is offered as if no list had waited', async () => {
      const { answer } = await openList()
      const target = `${project()}/agents/${its.bridge.ben.id}`
      expect(await its.bridge.owner.ok({ target })).toMatchObject({
        connection: { connected: true, listening_now: false },
      })
      const [id = ''] = await its.write('now')
      const listed = { messages: [{ id, delivery: { offers: 0 } }], next_after: id }
      expect(await answer).toMatchObject({ status: 200, body: listed })
      expect((await read(its.bridge.ben)).messages).toMatchObject([{ id, delivery: { attempt: 1 } }])
    })

    test('returns stored messages without waiting, and otherwise lasts its full time', async () => {
      const [id = ''] = await its.write('there')
      const wait = listing()
      expect(await wait.answer).toMatchObject({ status: 200, body: { messages: [{ id }] } })
      const began = performance.now()
      expect(await list(its.bridge.ada, '?wait_seconds=1')).toMatchObject({ messages: [], next_after: null })
      expect(performance.now() - began).toBeGreaterThan(990)
    })

    test('ends with an empty page if its pair is disabled, and with the reason if its agent is disabled', async () => {
      const unpaired = await openList()
      await its.bridge.owner.setPairing(its.bridge.project.id, [its.bridge.ada.id, its.bridge.ben.id], false)
      expect(await unpaired.answer).toMatchObject({ status: 200, body: { messages: [] } })
      const disabled = await openList()
      await its.bridge.owner.setAgent(its.bridge.project.id, its.bridge.ben.id, 'disabled')
      expect(await disabled.answer).toMatchObject({ status: 403, body: { error: 'agent_disabled' } })
    })

    test('takes at most one of the two slots, so that a listener can have the other one', async () => {
      const list = await openList()
      const listener = openWait(its.bridge.ben)
      await untilListening(its.bridge, its.bridge.ben)
      expect((await thirdWait(its.bridge.ben)).json).toMatchObject({
        error: 'wait_limit',
        details: { limit: 2 },
      })
      await its.write('for both')
      const heard = { status: 200, body: { messages: [{ body: 'for both' }] } }
      expect(await Promise.all([list.answer, listener.answer])).toMatchObject([heard, heard])
    })
  })
})
