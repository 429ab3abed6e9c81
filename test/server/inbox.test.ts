/** The inbox: the offers, their order and repetition, and the events that end a wait. Contract §6. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { databasePath } from '../../server/storage/data-folder.ts'
import { enroll, type TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerPassword } from '../support/owner.ts'
import { signedText } from '../support/raw-client.ts'
import { type Served, watchServed } from '../support/served.ts'
import { type OpenWait, openWait, untilListening } from '../support/waits.ts'

let shared: TestBridge
/** The server of this file, with a project and two agents for this test alone. */
let bridge: TestBridge
let conversation: string
let tests = 0

beforeAll(async () => {
  shared = await startBridge()
})
afterAll(() => shared.close())
beforeEach(async () => {
  const { owner } = shared
  // Tests advance the clock, and enrolling requires a recent confirmation.
  if (tests % 4 === 0)
    await owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
  const project = await owner.createProject(`test ${tests++}`)
  const [ada, ben] = [await shared.agent('ada', project.id), await shared.agent('ben', project.id)]
  bridge = { ...shared, project, ada, ben }
  await ada.startSession()
  conversation = await ada.conversationWith(ben.id)
})

interface Offered {
  readonly id: string
  readonly body: string
  readonly sequence: number
  readonly delivery: { readonly attempt: number; readonly offers: number; readonly first_offered_at: string }
}

interface Page {
  readonly messages: Offered[]
  readonly has_more: boolean
  readonly waiting: number
}

const read = (agent: TestAgent, query = ''): Promise<Page> =>
  agent.ok<Page>({ target: `/api/v1/inbox${query}` })

const bodiesOf = ({ messages }: { messages: readonly { body: string }[] }) => messages.map(({ body }) => body)

/** Sends messages from ada to ben one after the other. */
async function write(...texts: string[]): Promise<string[]> {
  const ids: string[] = []
  for (const text of texts) ids.push((await bridge.ada.send(conversation, bridge.ben.id, text)).id)
  return ids
}

const numbered = (count: number, word = 'note') =>
  Array.from({ length: count }, (_, index) => `${word} ${index}`)

const acknowledge = (agent: TestAgent, ids: readonly string[]) =>
  agent.call({ target: '/api/v1/acknowledgements', body: { message_ids: ids }, key: null })

async function newSession(agent: TestAgent): Promise<void> {
  await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  await agent.startSession()
}

describe('offering', () => {
  test('new messages are offered in sequence order, page by page, each once', async () => {
    await write(...numbered(7))
    const pages = [await read(bridge.ben, '?limit=3'), await read(bridge.ben, '?limit=3')]
    pages.push(await read(bridge.ben, '?limit=3'), await read(bridge.ben, '?limit=3'))
    expect(pages.map(bodiesOf)).toEqual([
      ['note 0', 'note 1', 'note 2'],
      ['note 3', 'note 4', 'note 5'],
      ['note 6'],
      [],
    ])
    expect(pages.map(({ has_more }) => has_more)).toEqual([true, true, false, false])
    expect(pages.map(({ waiting }) => waiting)).toEqual([7, 7, 7, 7])
  })

  test('an offered message is offered again after 60 seconds, not earlier, with the count of its offers', async () => {
    const [id = ''] = await write('remember me')
    const first = await read(bridge.ben)
    expect(first.messages).toMatchObject([{ id, delivery: { attempt: 1, offers: 1 } }])
    bridge.clock.advance(50)
    expect(await read(bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
    bridge.clock.advance(10)
    const second = await read(bridge.ben)
    expect(second.messages).toMatchObject([
      {
        id,
        delivery: { attempt: 2, offers: 2, first_offered_at: first.messages[0]?.delivery.first_offered_at },
      },
    ])
    expect(await read(bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
  })

  test('an acknowledged message is never offered again, in any session', async () => {
    const [first = '', second = ''] = await write('one', 'two')
    await read(bridge.ben)
    expect((await acknowledge(bridge.ben, [first])).json).toEqual({ acknowledged: [first], already: [] })
    bridge.clock.advance(60)
    expect((await read(bridge.ben)).messages).toMatchObject([{ id: second }])
    await newSession(bridge.ben)
    expect((await read(bridge.ben)).messages).toMatchObject([{ id: second }])
    expect((await acknowledge(bridge.ben, [second, first])).json).toEqual({
      acknowledged: [second],
      already: [first],
    })
    expect(await read(bridge.ben)).toMatchObject({ messages: [], waiting: 0 })
  })

  test("acknowledging another agent's messages has no effect", async () => {
    const [id = ''] = await write('mine')
    const unknown = await acknowledge(bridge.ben, [id, randomUUID()])
    expect([unknown.status, unknown.json]).toMatchObject([404, { error: 'not_found' }])
    expect((await acknowledge(bridge.ada, [id])).status).toBe(404)
    expect((await read(bridge.ben)).messages).toMatchObject([{ id }])
  })

  test('a new session is offered every unacknowledged message immediately', async () => {
    await write(...numbered(3))
    await read(bridge.ben, '?limit=2')
    await newSession(bridge.ben)
    const page = await read(bridge.ben)
    expect(bodiesOf(page)).toEqual(['note 0', 'note 1', 'note 2'])
    expect(page.messages.map(({ delivery }) => delivery.attempt)).toEqual([2, 2, 1])
  })

  test('a resumed session is not a new one', async () => {
    await write('once')
    await read(bridge.ben)
    await bridge.ben.startSession()
    expect((await read(bridge.ben)).messages).toEqual([])
  })

  test.each([{ pages: [10] }, { pages: Array(10).fill(1) }, { pages: [5, 5] }])(
    'one slot in ten is reserved for redeliveries that are due: pages of $pages',
    async ({ pages }) => {
      await write(...numbered(10, 'old'))
      await read(bridge.ben)
      bridge.clock.advance(60)
      await write(...numbered(20, 'new'))
      const bodies: string[] = []
      for (const limit of pages) bodies.push(...bodiesOf(await read(bridge.ben, `?limit=${limit}`)))
      expect(bodies.filter((body) => body.startsWith('old'))).toEqual(['old 0'])
      expect(bodies.filter((body) => body.startsWith('new'))).toEqual(numbered(9, 'new'))
    },
  )

  test('redeliveries fill the free slots of a page, oldest first', async () => {
    await write('first')
    await read(bridge.ben)
    bridge.clock.advance(1)
    await write('second')
    await read(bridge.ben)
    bridge.clock.advance(60)
    await write('third')
    expect(bodiesOf(await read(bridge.ben))).toEqual(['third', 'first', 'second'])
  })
})

describe('an offer counts once its bytes were sent', () => {
  const large = 16
  /** Fills one page with nearly 1 MiB. */
  const writeLarge = async () => {
    const ids: string[] = []
    for (const text of numbered(large, 'x'.repeat(60_000))) {
      ids.push((await bridge.owner.message(bridge.project.id, bridge.ben.id, text)).id)
    }
    return ids
  }
  const everything = '/api/v1/inbox?limit=100'
  /** The node records the offers of a page shortly after its bytes were sent. */
  const deliveryOf = async (id: string) => {
    const { delivery } = await bridge.ben.ok<{ delivery: { offers: number } }>({
      target: `/api/v1/messages/${id}`,
    })
    return delivery.offers
  }

  let served: Served
  beforeAll(() => {
    served = watchServed()
  })
  afterAll(() => served.stop())

  /**
   * A client that reads nothing: its connection already holds more than the system buffers before its page.
   */
  async function slowReader() {
    const socket = connect(bridge.server.port, '127.0.0.1')
    const other = await served.of(socket)
    other.write(Buffer.alloc(16 * 1024 * 1024))
    socket.write(signedText(bridge.ben, { target: everything }))
    // This request was sent after the page was requested, and is answered after the node has read the page.
    await bridge.ben.ok({ target: '/api/v1/peers' })
    return socket
  }

  test('an offer on a connection that closed earlier does not count, and the next read gets every message', async () => {
    const [id = ''] = await writeLarge()
    const socket = await slowReader()
    expect((await read(bridge.ben, '?limit=100')).messages.length).toBe(0)
    socket.destroy()
    const page = await read(bridge.ben, '?limit=100&wait_seconds=20')
    expect(page.messages.map(({ delivery }) => delivery.attempt)).toEqual(Array(large).fill(1))
    await expect.poll(() => deliveryOf(id)).toBe(1)
  })

  test('while a slow client receives its page, a second read neither gets those messages nor busy-loops', async () => {
    const ids = await writeLarge()
    await read(bridge.ben, '?limit=100')
    await expect.poll(() => deliveryOf(ids.at(-1) ?? '')).toBe(1)
    bridge.clock.advance(60)
    const slow = await slowReader()

    const timers = vi.spyOn(globalThis, 'setTimeout')
    const began = performance.now()
    const { messages, waiting } = await read(bridge.ben, '?limit=100&wait_seconds=1')
    expect([messages.length, waiting]).toEqual([0, large])
    expect(performance.now() - began).toBeGreaterThan(990)
    expect(timers.mock.calls.length).toBeLessThan(20)
    slow.destroy()
  })

  test('a page that a fenced session reads late is not offered again to the session that acknowledged it', async () => {
    const ids = await writeLarge()
    const slow = await slowReader()
    bridge.clock.advance(90)
    await bridge.ben.startSession(randomUUID())
    expect((await read(bridge.ben, '?limit=100')).messages).toHaveLength(large)
    await expect.poll(() => deliveryOf(ids.at(-1) ?? '')).toBe(1)

    await once(slow.resume(), 'close')
    expect((await read(bridge.ben, '?limit=100&wait_seconds=1')).messages.length).toBe(0)
  })

  test('a client that disconnects while waiting for a redelivery does not withhold the message from the next read', async () => {
    const [id = ''] = await write('patience')
    await read(bridge.ben)
    // The offer is not recorded before that, and the clock must not move earlier.
    await expect.poll(() => deliveryOf(id)).toBe(1)
    const wait = openWait(bridge.ben)
    await untilListening(bridge, bridge.ben)
    await wait.leave()
    bridge.clock.advance(61)
    await expect.poll(async () => bodiesOf(await read(bridge.ben))).toEqual(['patience'])
  })
})

describe('waiting', () => {
  test('a wait without new messages lasts its full time, although old messages are unacknowledged', async () => {
    await write('old')
    await read(bridge.ben)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const began = performance.now()
    expect(await read(bridge.ben, '?wait_seconds=1')).toMatchObject({ messages: [], waiting: 1 })
    expect(performance.now() - began).toBeGreaterThan(990)
    expect(timers.mock.calls.length).toBeLessThan(20)
  })

  test('a wait ends immediately with a message stored in the meantime', async () => {
    const wait = openWait(bridge.ben)
    await untilListening(bridge, bridge.ben)
    await write('now')
    expect(await wait.answer).toMatchObject({ status: 200, body: { messages: [{ body: 'now' }] } })
  })

  test('of two simultaneous reads exactly one gets each message', async () => {
    await write(...numbered(20))
    const pages = await Promise.all([read(bridge.ben, '?limit=15'), read(bridge.ben, '?limit=15')])
    expect(pages.flatMap(bodiesOf)).toEqual(numbered(20))
  })

  test('of two waits of one session one gets the message, and the other continues to wait', async () => {
    const waits = [openWait(bridge.ben), openWait(bridge.ben)]
    await expect.poll(async () => (await thirdWait(bridge.ben)).status).toBe(429)
    await write('for one')
    const first = await Promise.race(waits.map(({ answer }) => answer))
    expect(bodiesOf({ messages: first?.body.messages ?? [] })).toEqual(['for one'])
    expect((await read(bridge.ben)).messages).toEqual([])
    for (const wait of waits) await wait.leave()
    expect((await Promise.all(waits.map(({ answer }) => answer))).filter(Boolean)).toHaveLength(1)
  })

  test('a third wait of a session is refused until one of the first two ends', async () => {
    const waits = [openWait(bridge.ben), openWait(bridge.ben)]
    await expect.poll(async () => (await thirdWait(bridge.ben)).status).toBe(429)
    const refused = await thirdWait(bridge.ben)
    expect(refused.json).toMatchObject({ error: 'wait_limit', details: { limit: 2 } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await read(bridge.ben)).messages).toEqual([])
    expect((await thirdWait(bridge.ada)).status).toBe(200)

    await waits[0]?.leave()
    await expect.poll(async () => (await thirdWait(bridge.ben)).status).toBe(200)
    await waits[1]?.leave()
  })
})

const thirdWait = (agent: TestAgent) => agent.call({ target: '/api/v1/inbox?wait_seconds=1' })

describe('withheld messages', () => {
  const pair = (enabled: boolean) =>
    bridge.owner.ok({
      target: `/api/admin/projects/${bridge.project.id}/pairings`,
      body: { agent_ids: [bridge.ada.id, bridge.ben.id], enabled },
    })

  test('of a disabled pair arrive once the pair is enabled again, also on an open wait', async () => {
    await write('held back')
    await pair(false)
    expect(await read(bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
    await bridge.owner.message(bridge.project.id, bridge.ben.id, 'from the owner')
    expect(bodiesOf(await read(bridge.ben))).toEqual(['from the owner'])

    const wait = openWait(bridge.ben)
    await untilListening(bridge, bridge.ben)
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
    const { owner, project, ben } = bridge
    await write('hello')
    const code = await owner.enrollmentCode(project.id, ben.id, { scopes })
    const again = await enroll(bridge.url, code, bridge.clock)
    await again.startSession()
    expect(bodiesOf(await read(again))).toEqual(sees)
    expect((await read(again)).waiting).toBe(1)
  })
})

describe('a wait ends with the reason when the agent loses the right to listen', () => {
  const project = () => `/api/admin/projects/${bridge.project.id}`

  test.each([
    {
      what: 'its credential is revoked',
      status: 401,
      error: 'credential_revoked',
      act: () =>
        bridge.owner.ok({
          target: `${project()}/credentials/${bridge.ben.enrolled.credential_id}/revoke`,
          body: {},
        }),
    },
    {
      what: 'the agent is disabled',
      status: 403,
      error: 'agent_disabled',
      act: () =>
        bridge.owner.ok({
          target: `${project()}/agents/${bridge.ben.id}/state`,
          body: { state: 'disabled' },
        }),
    },
    {
      what: 'the project is archived',
      status: 410,
      error: 'project_archived',
      act: () => bridge.owner.ok({ target: `${project()}/state`, body: { state: 'archived' } }),
    },
    {
      what: 'the agent was enrolled again',
      status: 401,
      error: 'credential_revoked',
      act: async () =>
        enroll(bridge.url, await bridge.owner.enrollmentCode(bridge.project.id, bridge.ben.id), bridge.clock),
    },
    {
      what: 'its session is closed',
      status: 409,
      error: 'session_closed',
      act: () => bridge.ben.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null }),
    },
    {
      what: 'another process fenced its session',
      status: 409,
      error: 'session_fenced',
      act: async () => {
        const database = new Database(databasePath(bridge.data))
        database
          .prepare("UPDATE sessions SET state = 'fenced', ended_at = started_at WHERE id = ?")
          .run(bridge.ben.session?.id)
        database.close()
      },
    },
  ])('$what: $error', async ({ act, status, error }) => {
    const wait = openWait(bridge.ben)
    await untilListening(bridge, bridge.ben)
    const began = performance.now()
    await act()
    expect(await wait.answer).toMatchObject({ status, body: { error } })
    expect(performance.now() - began).toBeLessThan(10_000)
  })
})

describe('a list of the inbox', () => {
  interface Listed extends Page {
    readonly next_after: string | null
  }
  const list = (agent: TestAgent, query = '') =>
    agent.ok<Listed>({ target: `/api/v1/inbox/messages${query}` })

  test('shows every unacknowledged message in order, offered or not, and offers none', async () => {
    const [first = '', second = '', third = ''] = await write('one', 'two', 'three')
    await read(bridge.ben, '?limit=1')
    await acknowledge(bridge.ben, [second])
    const page = await list(bridge.ben)
    expect(page).toMatchObject({ has_more: false, next_after: third, waiting: 2 })
    expect(page.messages.map(({ id, delivery }) => [id, delivery.offers])).toEqual([
      [first, 1],
      [third, 0],
    ])
    // Listed messages are offered like unlisted ones.
    expect(bodiesOf(await read(bridge.ben))).toEqual(['three'])
  })

  test('is paged, and an empty page returns the cursor of the request', async () => {
    const ids = await write(...numbered(3))
    const one = await list(bridge.ben, '?limit=2')
    expect(one).toMatchObject({ has_more: true, next_after: ids[1], waiting: 3 })
    const two = await list(bridge.ben, `?limit=2&after=${one.next_after}`)
    expect([bodiesOf(two), two.has_more]).toEqual([['note 2'], false])
    expect(await list(bridge.ben, `?after=${ids[2]}`)).toMatchObject({ messages: [], next_after: ids[2] })
  })

  test('shows neither messages to another agent nor messages of a disabled pair', async () => {
    await write('for ben')
    expect((await list(bridge.ada)).messages).toEqual([])
    await bridge.owner.ok({
      target: `/api/admin/projects/${bridge.project.id}/pairings`,
      body: { agent_ids: [bridge.ada.id, bridge.ben.id], enabled: false },
    })
    expect(await list(bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
  })

  describe('a list of the inbox with a wait', () => {
    const path = '/api/v1/inbox/messages'
    const listing = (query = 'wait_seconds=20') => openWait(bridge.ben, query, path)
    const project = () => `/api/admin/projects/${bridge.project.id}`
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
      const target = `${project()}/agents/${bridge.ben.id}`
      expect(await bridge.owner.ok({ target })).toMatchObject({
        connection: { connected: true, listening_now: false },
      })
      const [id = ''] = await write('now')
      const listed = { messages: [{ id, delivery: { offers: 0 } }], next_after: id }
      expect(await answer).toMatchObject({ status: 200, body: listed })
      expect((await read(bridge.ben)).messages).toMatchObject([{ id, delivery: { attempt: 1 } }])
    })

    test('returns stored messages without waiting, and otherwise lasts its full time', async () => {
      const [id = ''] = await write('there')
      const wait = listing()
      expect(await wait.answer).toMatchObject({ status: 200, body: { messages: [{ id }] } })
      const began = performance.now()
      expect(await list(bridge.ada, '?wait_seconds=1')).toMatchObject({ messages: [], next_after: null })
      expect(performance.now() - began).toBeGreaterThan(990)
    })

    test('ends with an empty page if its pair is disabled, and with the reason if its agent is disabled', async () => {
      const unpaired = await openList()
      await bridge.owner.setPairing(bridge.project.id, [bridge.ada.id, bridge.ben.id], false)
      expect(await unpaired.answer).toMatchObject({ status: 200, body: { messages: [] } })
      const disabled = await openList()
      await bridge.owner.setAgent(bridge.project.id, bridge.ben.id, 'disabled')
      expect(await disabled.answer).toMatchObject({ status: 403, body: { error: 'agent_disabled' } })
    })

    test('takes at most one of the two slots, so that a listener can have the other one', async () => {
      const list = await openList()
      const listener = openWait(bridge.ben)
      await untilListening(bridge, bridge.ben)
      expect((await thirdWait(bridge.ben)).json).toMatchObject({ error: 'wait_limit', details: { limit: 2 } })
      await write('for both')
      const heard = { status: 200, body: { messages: [{ body: 'for both' }] } }
      expect(await Promise.all([list.answer, listener.answer])).toMatchObject([heard, heard])
    })
  })
})
