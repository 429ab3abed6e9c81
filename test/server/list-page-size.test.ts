/**
 * Every list of the contract, filled with the longest accepted texts: each page stays within 1 MiB, and its
 * cursor and `has_more` lead to all items.
 *
 * Contract §1 "Lists".
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EndpointSpec, ResponseOf } from '../../sdk/contract/endpoint.ts'
import { transferLimits } from '../../sdk/contract/helper/limits.ts'
import { type ContractEntry, endpoints } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { enroll, type TestAgent } from '../support/agent.ts'
import { fileOf, offer } from '../support/files.ts'
import { cookieOf, TestOwner } from '../support/owner.ts'
import { act, createTask, heldBy } from '../support/tasks.ts'
import { openStore } from '../support/test-store.ts'
import { unknownId } from './endpoints/case.ts'
import { type Ready, send } from './endpoints/send.ts'
import { type Pair, startWorld, type World } from './endpoints/world.ts'

let world: World
let pair: Pair
beforeAll(async () => {
  world = await startWorld()
  pair = await world.pair()
})
afterAll(() => world.close())

type ListId = {
  [E in ContractEntry as E['id']]: ResponseOf<E> extends { has_more: boolean } ? E['id'] : never
}[ContractEntry['id']]

interface Filled extends Ready {
  /** The ids that the list must contain, in this order. */
  readonly made: readonly string[]
  /**
   * - `pages`: the items exceed one page.
   * - `short`: a hundred of the longest items fit into one page.
   * - `few`: the largest possible number of items fits into one page.
   */
  readonly size: 'pages' | 'short' | 'few'
}

/** A control character takes six bytes in JSON, and a body has at most 256 KiB. */
const control = (bytes: number): string => '\u0001'.repeat(bytes)
const long = control(40_000)
const longName = (n: number): string => `${'😀'.repeat(limits.nameChars - 4)}${1000 + n}`
/** The braces, cursor and commas of a page. */
const frameBytes = 1024

const times = async <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> => {
  const made: T[] = []
  for (let n = 0; n < count; n += 1) made.push(await make(n))
  return made
}

const idOf = ({ id }: { readonly id: string }): string => id

/** Creates an agent that others see as a peer. */
async function member(projectId: string, name: string, fields: object = {}): Promise<string> {
  const { owner, bridge } = world
  const { id } = await owner.createAgent(projectId, name, fields)
  const agent = await enroll(bridge.url, await owner.enrollmentCode(projectId, id), bridge.clock)
  await agent.startSession()
  return id
}

async function agents(by: (its: Pair) => Ready['by']): Promise<Filled> {
  const its = await world.pair()
  const fields = {
    role_name: longName(0),
    description: control(limits.descriptionBytes),
    prompt_template: control(limits.promptBytes),
  }
  const made = await times(6, (n) => member(its.project.id, longName(n), fields))
  return { by: by(its), params: its.project, made, size: 'pages' }
}

const described = (n: number) => ({ name: longName(n), description: control(limits.descriptionBytes) })

async function environments(): Promise<Filled> {
  const target = `/api/admin/projects/${pair.project.id}/environments`
  const make = (n: number) =>
    world.owner.ok<{ id: string }>({ target, body: { ...described(n), kind: 'other' } })
  return ofProject('pages', (await times(24, make)).map(idOf))
}

async function projects(): Promise<Filled> {
  const make = (n: number) =>
    world.owner.ok<{ id: string }>({ target: '/api/admin/projects', body: described(n) })
  return { by: world.owner, made: (await times(24, make)).map(idOf), size: 'pages' }
}

/** Creates thirty people who administer a thousand projects each. */
async function administrators(): Promise<Filled> {
  const other = await world.elsewhere()
  const make = (n: number) =>
    other.owner.ok<{ administrator: { id: string } }>({
      target: '/api/admin/administrators',
      body: { name: longName(n) },
    })
  const made = (await times(30, make)).map(({ administrator }) => administrator.id)
  const database = openStore(other.bridge.data)
  database.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    INSERT INTO projects (id, name, description, state, message_budget, created_at, updated_at)
      SELECT printf('01890000-0000-7000-8000-%012x', i), 'many ' || i, '', 'active', 60, at, at
      FROM n, (SELECT created_at AS at FROM projects LIMIT 1) first;
    INSERT INTO project_administrators (user_id, project_id, created_at)
      SELECT u.id, p.id, p.created_at FROM owner_users u, projects p
      WHERE u.role = 'administrator' AND p.name LIKE 'many %'`)
  database.close()
  return { by: other.owner, made, size: 'pages' }
}

const ofProject = (size: Filled['size'], made: readonly string[], more: object = {}): Filled => ({
  by: world.owner,
  params: { ...pair.project, ...more },
  made,
  size,
})

const tasks = (by: () => Ready['by']) => async (): Promise<Filled> => {
  const fields = { title: longName(0), instructions: long }
  const made = await times(6, () => createTask(pair.ada, pair.ben, fields))
  return { by: by(), params: pair.project, made: made.map(idOf), size: 'pages' }
}

/** A task that was released nineteen times and failed at the twentieth attempt. */
const timeline = (by: () => Ready['by']) => async (): Promise<Filled> => {
  const attempts = limits.taskAttempts.max
  const reason = control(limits.taskReasonBytes)
  const { id } = await createTask(pair.ada, pair.ben, { max_attempts: attempts })
  for (let n = 1; n <= attempts; n += 1) {
    const held = heldBy(await act(pair.ben, id, 'claim', {}))
    await act(pair.ben, id, 'progress', { ...held, note: control(limits.taskNoteBytes) })
    await act(pair.ben, id, n < attempts ? 'release' : 'fail', { ...held, reason })
  }
  const params = { id: by() === world.owner ? pair.project.id : id, task_id: id }
  return { by: by(), params, made: [], size: 'few' }
}

const messages = async (): Promise<{ its: Pair; made: string[] }> => {
  const its = await world.pair()
  const made = await times(6, () => its.ada.send(its.conversation, its.ben.id, long))
  return { its, made: made.map(idOf) }
}

const mail = (by: (its: Pair) => Ready['by']) => async (): Promise<Filled> => {
  const { its, made } = await messages()
  const isOwner = by(its) === world.owner
  const id = isOwner ? its.project.id : its.conversation
  return { by: by(its), params: { id, conversation_id: its.conversation }, made, size: 'pages' }
}

/** Messages to the owner. */
const mailToOwner = async (): Promise<Filled> => {
  const { ada, project } = await world.pair()
  const conversation = await ada.conversationWith(ada.id)
  const made = await times(6, () => ada.send(conversation, ada.id, long))
  return { by: world.owner, params: project, made: made.map(idOf), size: 'pages' }
}

const conversations = (by: () => Ready['by'], name: string) => async (): Promise<Filled> => {
  const opened = await pair.ada.conversationWith(await member(pair.project.id, name))
  return { by: by(), params: pair.project, made: [pair.conversation, opened], size: 'short' }
}

async function enrollments(): Promise<Filled> {
  const agent = await world.unenrolled(pair.project.id)
  const scopes = ['messages', 'tasks', 'transfers', 'messages:read', 'tasks:read', 'transfers:read']
  await world.owner.enrollmentCode(pair.project.id, agent, { scopes })
  return ofProject('short', [])
}

const transfers = (by: () => Ready['by']) => async (): Promise<Filled> => {
  const filename = `${'f'.repeat(transferLimits.filenameChars - 4)}.txt`
  const made = await offer({
    from: pair.ada,
    to: pair.ben,
    bytes: fileOf(300),
    partSize: 200,
    fields: { filename },
  })
  return { by: by(), params: pair.project, made: [made.id], size: 'short' }
}

/** A session stores two hundred characters of the client program's name. */
async function sessions(): Promise<Filled> {
  const extra = [['User-Agent', '\u00ff'.repeat(400)]] as const
  const { url } = world.bridge
  const body = { link_token: await world.linkToken() }
  const reply = await new TestOwner(url, '').call({ target: '/api/admin/session', body, extra })
  return { by: new TestOwner(url, cookieOf(reply)), made: [], size: 'short' }
}

const owner = (): Ready['by'] => world.owner
const ada = (): TestAgent => pair.ada
const short = async (): Promise<Filled> => ofProject('short', [])

const lists: Readonly<Record<ListId, () => Promise<Filled>>> = {
  'peers.list': () => agents((its) => its.ada),
  'conversations.list': conversations(ada, longName(1)),
  'conversations.history': mail((its) => its.ada),
  'inbox.read': mail((its) => its.ben),
  'inbox.list': mail((its) => its.ben),
  'tasks.list': tasks(ada),
  'tasks.timeline': timeline(ada),
  'transfers.list': transfers(ada),
  'owner.signIn.list': sessions,
  'owner.administrators.list': administrators,
  'owner.projects.list': projects,
  'owner.environments.list': environments,
  'owner.agents.list': () => agents(owner),
  'owner.pairings.list': short,
  'owner.enrollments.list': enrollments,
  'owner.credentials.list': short,
  'owner.inbox.list': mailToOwner,
  'owner.inbox.ofProject': mailToOwner,
  'owner.conversations.list': conversations(owner, longName(2)),
  'owner.conversations.history': mail(owner),
  'owner.transfers.list': transfers(owner),
  'owner.audit.list': short,
  'owner.audit.node': short,
  'owner.audit.events': short,
  'owner.tasks.list': tasks(owner),
  'owner.tasks.timeline': timeline(owner),
}

/** A pairing is identified by the ids of its two agents. */
type Item = { readonly id: string } | { readonly agent_ids: readonly string[] }

const nameOf = (item: Item): string => ('id' in item ? item.id : item.agent_ids.join())

type Page = Readonly<Record<string, readonly Item[]>> & {
  readonly has_more: boolean
  readonly next_after?: string | null
  readonly next_sequence?: number
}

const propertiesOf = ({ properties = {} }: { readonly properties?: object }) => properties
const listed = endpoints.filter(({ response }) => 'has_more' in propertiesOf(response))

/** The first cursor of lists that otherwise start at their end. */
const first: Partial<Record<ListId, string>> = {
  'conversations.history': '&after_sequence=0',
  'owner.conversations.history': '&after_sequence=0',
  'owner.audit.events': `&after=${unknownId.replace(/[1-9]/g, '0')}`,
}

const next = ({ next_after, next_sequence }: Page): string => {
  if (next_sequence !== undefined) return `&after_sequence=${next_sequence}`
  return next_after ? `&after=${next_after}` : ''
}

/** The owner's history has no parameter `limit`. */
const limitOf = ({ query = {} }: EndpointSpec): string =>
  'limit' in propertiesOf(query) ? `limit=${limits.pageMax}` : ''

/** Yields the pages of a list up to the last one. */
async function* pagesOf(entry: EndpointSpec, ready: Ready, more = ''): AsyncGenerator<readonly Item[]> {
  for (let cursor = first[entry.id as ListId] ?? ''; ; ) {
    const reply = await send(entry, { ...ready, query: `?${limitOf(entry)}${more}${cursor}` })
    const { status, bytes } = reply
    expect([status, bytes.length <= limits.pageBytes + frameBytes ? 'fits' : bytes.length]).toEqual([
      200,
      'fits',
    ])
    const page = reply.json as Page
    yield Object.values(page).find((each) => Array.isArray(each)) ?? []
    if (!page.has_more) return
    cursor = next(page)
  }
}

test('the table contains every list of the contract', () => {
  expect(listed.map(({ id }) => id).toSorted()).toEqual(Object.keys(lists).toSorted())
})

const takesOrder = ({ query = {} }: EndpointSpec): boolean => 'order' in propertiesOf(query)

test('every list of the owner takes an order, except those with a fixed order', async () => {
  const without = listed.filter((entry) => entry.id.startsWith('owner.') && !takesOrder(entry))
  expect(without.map(({ id }) => id)).toEqual([
    'owner.signIn.list',
    'owner.inbox.list',
    'owner.inbox.ofProject',
    'owner.conversations.history',
    'owner.audit.events',
    'owner.tasks.timeline',
  ])
  expect(listed.filter((entry) => !entry.id.startsWith('owner.') && takesOrder(entry))).toEqual([])
  for (const entry of listed.filter(takesOrder)) {
    const reply = await send(entry, { by: world.owner, params: pair.project, query: '?order=latest_first' })
    expect([entry.id, reply.json]).toMatchObject([entry.id, { error: 'invalid_request' }])
  }
})

test.each(listed.map((entry) => ({ id: entry.id as ListId, entry })))('$id', async ({ id, entry }) => {
  const { made, size, ...ready } = await lists[id]()
  const read: Item[] = []
  let pages = 0
  for await (const items of pagesOf(entry, ready)) {
    expect(items.length).toBeGreaterThan(0)
    read.push(...items)
    pages += 1
  }
  const names = read.map(nameOf)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => made.includes(name))).toEqual(made)
  if (takesOrder(entry)) {
    const backward: Item[] = []
    for await (const items of pagesOf(entry, ready, '&order=newest_first')) backward.push(...items)
    expect(backward.map(nameOf)).toEqual(names.toReversed())
  }
  if (size === 'pages') expect(pages).toBeGreaterThan(1)
  if (size === 'few') expect(pages).toBe(1)
  if (size === 'short') expect(limits.pageMax * Math.max(...read.map(bytesOf))).toBeLessThan(limits.pageBytes)
})

const bytesOf = (item: Item): number => Buffer.byteLength(JSON.stringify(item))
