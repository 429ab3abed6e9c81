/**
 * Two projects on one node: objects of one project do not exist for the other.
 *
 * "Project and access isolation apply to every operation, including long-poll responses." Interface §1,
 * contract §1, reliability T1 to T4.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { EndpointId } from '../../../sdk/contract/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { rowsAt } from '../../support/attacks.ts'
import { fileOf, offer } from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'
import { TestOwner } from '../../support/owner.ts'
import type { CaseOf } from '../endpoints/case.ts'
import { cases } from '../endpoints/cases.ts'
import { type Ready, send } from '../endpoints/send.ts'
import { type Pair, startWorld, type World } from '../endpoints/world.ts'
import { answering, named } from './attempts.ts'
import type { Schema } from './fields.ts'

let world: World
/** The project whose objects are requested. */
let theirs: Pair & { readonly ids: Readonly<Record<string, string>> }
/** The project whose agents send the requests. */
let ours: Pair

beforeAll(async () => {
  world = await startWorld()
  ours = await world.pair()
  const pair = await world.pair()
  theirs = { ...pair, ids: await everyIdOf(pair) }
})
afterAll(() => world.close())

/** Returns one id of each kind, of objects that exist and are in use. */
async function everyIdOf({ project, ada, ben, conversation }: Pair): Promise<Record<string, string>> {
  const message = await ada.send(conversation, ben.id, 'between us')
  const ownerConversation = await ada.conversationWith(ada.id)
  const toOwner = await ada.send(ownerConversation, ada.id, 'to my owner')
  const fromOwner = await world.owner.message(project.id, ada.id, 'to my agent')
  const environments = `/api/admin/projects/${project.id}/environments`
  const environment = await world.owner.ok<{ id: string }>({
    target: environments,
    body: { name: 'lab', kind: 'server' },
  })
  const { enrollment_id } = await world.owner.ok<{ enrollment_id: string }>({
    target: `/api/admin/projects/${project.id}/agents/${await world.unenrolled(project.id)}/enrollment`,
    body: {},
  })
  const transfer = await offer({ from: ada, to: ben, bytes: fileOf(1), fields: { mode: 'direct' } })
  return {
    project: project.id,
    agent: ada.id,
    'other agent': ben.id,
    credential: ada.enrolled.credential_id,
    session: ada.session?.id ?? '',
    conversation,
    'owner conversation': ownerConversation,
    message: message.id,
    'message to the owner': toOwner.id,
    'message from the owner': fromOwner.id,
    environment: environment.id,
    transfer: transfer.id,
    enrolment: enrollment_id,
  }
}

/** Returns an unused id next to this one, which has the same place in any order. */
const nobodys = (id: string): string => `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`

/** Returns the answer without the parts that differ between any two answers. */
const blind = ({ status, headers, text }: Reply, id: string) => ({
  status,
  headers: Object.keys(headers).sort(),
  body: text
    .replaceAll(id, '<id>')
    .replaceAll(/"(request_id|observed_at|server_time|last_contact_at)":"[^"]*"/g, '"$1":"…"'),
})

/** The places where a request may have an id: parameters of the path, query and body. */
function placesOf(entry: EndpointSpec): ((ready: Ready, id: string) => Ready)[] {
  const names = (schema: unknown) => Object.entries((schema as Schema | undefined)?.properties ?? {})
  const isId = ([, node]: [string, Schema]) => node.format === 'uuid' || node.items?.format === 'uuid'
  return [
    ...names(entry.params).map(([name]) => (ready: Ready, id: string) => ({
      ...ready,
      params: { ...ready.params, [name]: id },
    })),
    ...names(entry.query)
      .filter(isId)
      .map(([name]) => (ready: Ready, id: string) => ({ ...ready, query: `?${name}=${id}` })),
    ...names(entry.body)
      .filter(isId)
      .map(([name, node]) => (ready: Ready, id: string) => ({
        ...ready,
        body: { ...(ready.body as object), [name]: node.type === 'array' ? listWith(ready, name, id) : id },
      })),
  ]
}

/** Returns a list of ids whose last id is replaced. */
function listWith({ body }: Ready, name: string, id: string): string[] {
  const list = (body as Record<string, string[]>)[name] ?? []
  return [...list.slice(0, -1), id]
}

const forAgents = answering.filter(({ caller }) => caller === 'agent' || caller === 'agent-without-session')
const withSession = forAgents.filter(({ caller }) => caller === 'agent')
const forOwners = answering.filter(({ path }) => path.startsWith('/api/admin/projects/{id}'))

const ready = (entry: EndpointSpec) => (cases[entry.id as EndpointId] as CaseOf<never>).success(world)

async function expectAlike(
  { entry, place }: ReturnType<typeof named>[number],
  make: (id: string) => Ready,
): Promise<void> {
  for (const [kind, id] of rowsAt(place, 3, Object.entries(theirs.ids))) {
    const [foreign, unknown] = [await send(entry, make(id)), await send(entry, make(nobodys(id)))]
    expect(blind(foreign, id), kind).toEqual(blind(unknown, nobodys(id)))
    expect(foreign.status, kind).not.toBe(500)
  }
}

describe.each(named(forAgents))('$id', (it) => {
  const { entry } = it

  test('treats an id of another project like an unknown one', async () => {
    for (const place of placesOf(entry)) {
      const own = await ready(entry)
      // An instance chooses its own id. A live agent sends this request, so that neither attempt starts a
      // session.
      const by = entry.id === 'sessions.start' ? ours.ada : own.by
      await expectAlike(it, (id) => place({ ...own, by }, id))
    }
  })

  test('reveals nothing of another project', async () => {
    if (entry.id === 'sessions.close') return
    const { text } = await send(entry, { ...(await ready(entry)), by: ours.ada })
    for (const [kind, id] of Object.entries(theirs.ids))
      expect([kind, text.includes(id)]).toEqual([kind, false])
  })
})

test.each(named(withSession))('$id does not find a session of another project', async ({ entry }) => {
  const own = { ...(await ready(entry)), by: ours.ada }
  const { session = '' } = theirs.ids
  const foreign = await send(entry, { ...own, session })
  const unknown = await send(entry, { ...own, session: nobodys(session) })
  expect(blind(foreign, session)).toEqual(blind(unknown, nobodys(session)))
  expect(foreign.json).toMatchObject({ error: 'session_unknown' })
})

describe.each(named(forOwners))('$id', (it) => {
  const { entry } = it

  test('finds no object of one project in another', async () => {
    const places = placesOf(entry)
    const own = await ready(entry)
    for (const place of places.slice(1)) {
      await expectAlike(it, (id) => place({ ...own, params: { ...own.params, id: ours.project.id } }, id))
    }
    expect(own.by).toBeInstanceOf(TestOwner)
  })
})

describe('a conversation', () => {
  test('is found by its own agent and by no agent of another project', async () => {
    const target = `/api/v1/conversations/${theirs.conversation}`
    expect((await theirs.ada.call({ target })).status).toBe(200)
    expect((await ours.ada.call({ target })).json).toMatchObject({ error: 'not_found' })
  })

  test('of two agents is not found by a third agent of their project', async () => {
    const cy = await world.agent(theirs.project.id)
    for (const id of [theirs.conversation, theirs.ids['owner conversation'] ?? '']) {
      for (const path of [`/api/v1/conversations/${id}`, `/api/v1/conversations/${id}/messages`]) {
        expect((await cy.call({ target: path })).json).toMatchObject({ error: 'not_found' })
      }
    }
    const body = { message_ids: [theirs.ids.message] }
    const reply = await cy.call({ target: '/api/v1/acknowledgements', body })
    expect(reply.json).toMatchObject({ error: 'not_found' })
  })

  test('cannot be acknowledged by its sender', async () => {
    const body = { message_ids: [theirs.ids.message] }
    const reply = await theirs.ada.call({ target: '/api/v1/acknowledgements', body })
    expect(reply.json).toMatchObject({ error: 'not_found' })
  })
})

describe('an Idempotency-Key', () => {
  test('is separate in another project', async () => {
    const key = crypto.randomUUID()
    const open = ({ ada }: Pair) =>
      ada.call({ target: '/api/v1/conversations', body: { recipient_agent_id: ada.id }, key })
    const [one, other] = [await open(theirs), await open(ours)]
    expect([one.status, other.status]).toEqual([200, 200])
    expect(other.headers['idempotency-replayed']).toBeUndefined()
    expect((other.json as { project_id: string }).project_id).toBe(ours.project.id)
  })
})

describe('a wait', () => {
  const waitSeconds = 2

  test('is not ended by a message in another project', async () => {
    const listener = await world.agent(ours.project.id)
    const started = performance.now()
    const waiting = listener.call({ target: `/api/v1/inbox?wait_seconds=${waitSeconds}` })
    const talk = async (by: TestAgent, to: TestAgent) => {
      for (let count = 0; count < 10; count += 1) await by.send(theirs.conversation, to.id, `${count}`)
    }
    await Promise.all([talk(theirs.ada, theirs.ben), talk(theirs.ben, theirs.ada)])
    expect((await waiting).json).toEqual({ messages: [], has_more: false, waiting: 0 })
    expect(performance.now() - started).toBeGreaterThanOrEqual(waitSeconds * 1000 - 50)
  })
})
