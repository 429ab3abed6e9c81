/**
 * A project administrator: projects not assigned to it do not exist, owner-only actions are refused, and a
 * project taken from it is unknown at the next request. All routes of the contract are tested.
 *
 * "Project administrators see only assigned projects." Interface §5, contract §10, reliability T23 to T25.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { EndpointId } from '../../../sdk/contract/index.ts'
import type { Reply } from '../../support/http.ts'
import type { TestOwner } from '../../support/owner.ts'
import { expectSame, StoredReader } from '../../support/stored.ts'
import { expectRefusal, expectSuccess } from '../endpoints/answers.ts'
import { type CaseOf, unknownId } from '../endpoints/case.ts'
import { cases } from '../endpoints/cases.ts'
import { send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'
import { answering } from './attempts.ts'

let world: World
let store: StoredReader
let kim: { readonly id: string; readonly by: TestOwner }

beforeAll(async () => {
  world = await startWorld()
  store = new StoredReader(world.bridge.data)
  world.onClose(async () => store.close())
  kim = await world.administrator()
})
afterAll(() => world.close())

const owners = answering.filter(({ caller }) => caller === 'owner')
const inProjects = owners.filter(({ path, ownerOnly }) => path.includes('/projects/{id}') && !ownerOnly)
const ownerOnly = owners.filter((entry) => entry.ownerOnly)
const named = (entries: readonly EndpointSpec[]) => entries.map((entry) => ({ id: entry.id, entry }))
const ready = (entry: EndpointSpec) => (cases[entry.id as EndpointId] as CaseOf<never>).success(world)

const blind = ({ status, headers, text }: Reply) => ({
  status,
  headers: Object.keys(headers).sort(),
  body: text.replace(/"request_id":"[^"]*"/, ''),
})

test('every owner endpoint belongs to one project, or is owner-only, or concerns the caller', () => {
  const rest = owners.filter((entry) => !inProjects.includes(entry) && !entry.ownerOnly)
  expect(rest.map(({ id }) => id).filter((id) => !id.startsWith('owner.signIn.'))).toEqual([
    'owner.projects.list',
    // test/server/owner-inbox.test.ts shows that it has the assigned projects only.
    'owner.inbox.list',
  ])
})

describe.each(named(inProjects))('$id', ({ entry }) => {
  test('is available to an administrator while the project is assigned to it, and unknown before and after', async () => {
    const ours = await ready(entry)
    const project = ours.params?.id ?? ''
    const before = store.read()
    const foreign = await send(entry, { ...ours, by: kim.by })
    const unknown = await send(entry, { ...ours, by: kim.by, params: { ...ours.params, id: unknownId } })
    expectRefusal(foreign, 'not_found')
    expect(blind(foreign)).toEqual(blind(unknown))
    expectSame([store.read()], [before])

    await world.assign(kim.id, project, true)
    expectSuccess(entry, await send(entry, { ...ours, by: kim.by }))
    await world.assign(kim.id, project, false)
    expectRefusal(await send(entry, { ...ours, by: kim.by }), 'not_found')
  })
})

describe.each(named(ownerOnly))('$id', ({ entry }) => {
  test('is refused to an administrator, in its own project and in any other', async () => {
    const ours = await ready(entry)
    const project = await world.project()
    await world.assign(kim.id, project, true)
    const before = store.read()
    for (const id of [ours.params?.id ?? unknownId, project, unknownId]) {
      const params = { ...ours.params, id }
      expectRefusal(await send(entry, { ...ours, by: kim.by, params }), 'not_permitted')
    }
    expectSame([store.read()], [before])
    await world.assign(kim.id, project, false)
  })
})

describe('the list of projects', () => {
  test('contains the projects of an administrator and no others', async () => {
    const [one = '', other = ''] = [await world.project(), await world.project(), await world.project()]
    const seen = async () => {
      const { projects } = await kim.by.ok<{ projects: { id: string }[] }>({ target: '/api/admin' })
      return projects.map(({ id }) => id)
    }
    expect(await seen()).toEqual([])
    await world.assign(kim.id, other, true)
    await world.assign(kim.id, one, true)
    await world.assign(kim.id, one, true)
    expect(await seen()).toEqual([one, other])
    await world.assign(kim.id, one, false)
    expect(await seen()).toEqual([other])
    await world.assign(kim.id, other, false)
    expect(await seen()).toEqual([])
  })
})

describe('an administrator', () => {
  test('has one link for the first sign-in, which works once', async () => {
    const { link } = await world.owner.ok<{ link: string }>({
      target: `/api/admin/administrators/${kim.id}/link`,
      body: {},
    })
    const tokens = [new URL(link).hash.slice(1), 'A'.repeat(43)]
    const replies = await Promise.all(
      [...Array.from({ length: 50 }, () => tokens[0]), tokens[1]].map((token) => world.follow(token ?? '')),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const reply of replies.filter(({ status }) => status !== 200)) expectRefusal(reply, 'sign_in_failed')
  })

  test("gets a new link only as a replacement of the last one, and the owner's link is not affected", async () => {
    const make = () =>
      world.owner.ok<{ link: string }>({ target: `/api/admin/administrators/${kim.id}/link`, body: {} })
    const owners = await world.linkToken()
    const [first, second] = [await make(), await make()]
    expectRefusal(await world.follow(new URL(first.link).hash.slice(1)), 'sign_in_failed')
    expect((await world.follow(new URL(second.link).hash.slice(1))).json).toMatchObject({
      user: { id: kim.id, role: 'administrator' },
    })
    expect((await world.follow(owners)).json).toMatchObject({ user: { role: 'owner' } })
  })

  test('has no valid link after its expiry', async () => {
    const other = await world.elsewhere()
    const { link } = await other.owner.ok<{ link: string }>({
      target: '/api/admin/administrators',
      body: { name: 'late', ttl_seconds: 60 },
    })
    other.bridge.clock.advance(60)
    expectRefusal(await other.follow(new URL(link).hash.slice(1)), 'sign_in_failed')
  })

  test('loses every sign-in and link immediately when disabled, and enabling restores none', async () => {
    const lee = await world.administrator()
    const target = `/api/admin/administrators/${lee.id}`
    const { link } = await world.owner.ok<{ link: string }>({ target: `${target}/link`, body: {} })
    await world.owner.ok({ target: `${target}/state`, body: { state: 'disabled' } })
    expectRefusal(await lee.by.call({ target: '/api/admin' }), 'owner_session_expired')
    expectRefusal(await world.follow(new URL(link).hash.slice(1)), 'sign_in_failed')
    await world.owner.ok({ target: `${target}/state`, body: { state: 'enabled' } })
    expectRefusal(await lee.by.call({ target: '/api/admin' }), 'owner_session_expired')
    expectRefusal(await world.follow(new URL(link).hash.slice(1)), 'sign_in_failed')
  })

  test('chooses a password that no one else learns or needs', async () => {
    const lee = await world.administrator()
    const body = { new_password: 'a password of my own' }
    const wrong = { password: 'a password of my own' }
    expectRefusal(
      await lee.by.call({ target: '/api/admin/session/confirm', body: wrong }),
      'sign_in_failed',
      'before there is one',
    )
    await lee.by.ok({ target: '/api/admin/session/password', body })
    expectRefusal(await lee.by.call({ target: '/api/admin' }), 'owner_session_expired')
    const { administrators } = await world.owner.ok<{ administrators: object[] }>({
      target: '/api/admin/administrators?limit=100',
    })
    expect(administrators).toContainEqual(expect.objectContaining({ id: lee.id, has_password: true }))
  })

  test('is known to the agents of its projects as their owner, and to no others', async () => {
    const lee = await world.administrator()
    const [theirs, others] = [await world.pair(), await world.pair()]
    await world.assign(lee.id, theirs.project.id, true)
    const heard = async ({ ada }: typeof theirs) => {
      const conversation = await ada.conversationWith(ada.id)
      const body = { conversation_id: conversation, recipient_agent_id: ada.id, type: 'note', body: 'there?' }
      const { recipient } = await ada.ok<{ recipient: { connection: { last_contact_at: string } } }>({
        target: '/api/v1/messages',
        body,
        key: crypto.randomUUID(),
      })
      return recipient.connection.last_contact_at
    }
    const quiet = [await heard(theirs), await heard(others)]
    await lee.by.ok({ target: '/api/admin' })
    const after = [await heard(theirs), await heard(others)]
    expect([after[0] === quiet[0], after[1] === quiet[1]]).toEqual([false, true])
  })
})
