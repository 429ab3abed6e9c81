/**
 * An owner's changes of names, instructions and enrolments, and their effects on the agents.
 *
 * Contract §4, §10.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enroll } from '../support/agent.ts'
import { codeOf } from '../support/owner.ts'
import { expectRefusal } from './endpoints/answers.ts'
import { type Pair, startWorld, type World } from './endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

const of = (project: string, rest: string) => `/api/admin/projects/${project}/${rest}`
const audited = async (project: string, kind: string) => {
  const target = of(project, `audit?kind=${kind}`)
  return (await world.owner.ok<{ audit: { subject: object; details: object }[] }>({ target })).audit
}

describe('a renamed agent', () => {
  const rename = ({ project, ada }: Pair, name: string) =>
    world.owner.call({ target: of(project.id, `agents/${ada.id}/name`), body: { name } })

  test('continues under the new name, and old messages keep the old one', async () => {
    const pair = await world.pair()
    const { ada, ben, conversation, project } = pair
    const was = (await ada.ok<{ agent: { name: string } }>({ target: '/api/v1/bootstrap', session: null }))
      .agent
    await ada.send(conversation, ben.id, 'before')
    expect((await rename(pair, 'Ada the Second')).json).toEqual({ id: ada.id, name: 'Ada the Second' })
    await ada.send(conversation, ben.id, 'after')
    const { messages } = await ben.ok<{ messages: { sender: { name: string } }[] }>({
      target: `/api/v1/conversations/${conversation}/messages`,
    })
    expect(messages.map(({ sender }) => sender.name)).toEqual([was.name, 'Ada the Second'])
    expect(await ada.ok({ target: '/api/v1/bootstrap', session: null })).toMatchObject({
      agent: { name: 'Ada the Second' },
      instructions: expect.stringContaining('You are Ada the Second'),
    })
    expect(await audited(project.id, 'agent.renamed')).toMatchObject([
      { details: { from: was.name, to: 'Ada the Second' } },
    ])
    // Its former name can be used again.
    await world.owner.createAgent(project.id, was.name)
  })

  test('that gets the name it already has leaves no record, and other agents cannot use that name', async () => {
    const pair = await world.pair()
    await rename(pair, 'eva')
    expect((await rename(pair, 'eva')).status).toBe(200)
    expect(await audited(pair.project.id, 'agent.renamed')).toHaveLength(1)
    const target = of(pair.project.id, `agents/${pair.ben.id}/name`)
    expectRefusal(await world.owner.call({ target, body: { name: 'eva' } }), 'name_taken')
    expectRefusal(await world.owner.call({ target, body: { name: 'e\nva' } }), 'invalid_request')
  })
})

describe('work instructions', () => {
  const read = (project: string, id: string) =>
    world.owner.ok<{ instructions: string; rendered: string; updated_at: string | null }>({
      target: of(project, `agents/${id}/instructions`),
    })

  test('are previewed as the agent gets them, and nothing is issued', async () => {
    const { project, ada } = await world.pair()
    const before = await read(project.id, ada.id)
    expect(before).toMatchObject({ instructions: '', updated_at: null })
    const target = of(project.id, `agents/${ada.id}/instructions`)
    const text = 'Read twice.\n\n- then\n- answer — «kurz»'
    const saved = await world.owner.ok<object>({ target, body: { instructions: text } })
    expect(await read(project.id, ada.id)).toEqual(saved)
    const told = await ada.ok<{ instructions: string }>({ target: '/api/v1/bootstrap', session: null })
    expect(saved).toEqual({
      instructions: text,
      rendered: told.instructions,
      updated_at: expect.any(String),
    })
    expect(told.instructions.endsWith(text)).toBe(true)
    expect(await audited(project.id, 'enrollment.created')).toHaveLength(2)
    const [line] = await audited(project.id, 'agent.instructed')
    expect(line?.details).toEqual({ bytes: Buffer.byteLength(text) })
  })

  test('are not overwritten by a writer that read an older state', async () => {
    const { project, ada } = await world.pair()
    const target = of(project.id, `agents/${ada.id}/instructions`)
    const save = (instructions: string, if_updated_at: string | null) =>
      world.owner.call({ target, body: { instructions, if_updated_at } })
    // The test's clock stands still, so both states are of the same millisecond.
    const first = (await save('first', null)).json as { updated_at: string }
    const second = (await save('second', first.updated_at)).json as { updated_at: string }
    for (const stale of [null, first.updated_at]) {
      const refused = await save('lost', stale)
      expectRefusal(refused, 'state_conflict')
      expect(refused.json).toMatchObject({ details: { updated_at: second.updated_at } })
    }
    expect((await read(project.id, ada.id)).instructions).toBe('second')
    expect(await audited(project.id, 'agent.instructed')).toHaveLength(2)
    expectRefusal(
      await world.owner.call({ target, body: { instructions: 'x', if_updated_at: 'yesterday' } }),
      'invalid_request',
    )
  })

  test('are removed by an empty text, and refused beyond their size limit', async () => {
    const { project, ada } = await world.pair()
    const target = of(project.id, `agents/${ada.id}/instructions`)
    await world.owner.ok({ target, body: { instructions: 'x'.repeat(32 * 1024) } })
    expectRefusal(
      await world.owner.call({ target, body: { instructions: `${'x'.repeat(32 * 1024 - 1)}é` } }),
      'invalid_request',
    )
    await world.owner.ok({ target, body: { instructions: '' } })
    expect((await read(project.id, ada.id)).instructions).toBe('')
  })
})

describe('a change', () => {
  const change = (target: string, body: object) =>
    world.owner.call({ target: `${target}/profile`, body: { ...body } })
  const profileOf = (project: string) => `/api/admin/projects/${project}`
  const refusedEmpty = async (target: string) => expectRefusal(await change(target, {}), 'invalid_request')

  test('of a project keeps the other fields, merges the policy and applies at once', async () => {
    const { project, ada, ben, conversation } = await world.pair()
    const target = profileOf(project.id)
    await world.owner.ok({ target: `${target}/profile`, body: { policy: { audit_days: 30 } } })
    const name = world.name('orchard')
    const changed = await change(target, { name, policy: { message_budget: 1, audit_days: 31 } })
    expect(changed.json).toMatchObject({
      id: project.id,
      name,
      description: '',
      state: 'active',
      policy: { idle_seconds: null, message_budget: 1, audit_days: 31 },
    })
    await ada.send(conversation, ben.id, 'the only one')
    await expect(ada.send(conversation, ben.id, 'one too many')).rejects.toThrow('conversation_budget')
    expect((await change(target, { policy: { message_budget: null } })).json).toMatchObject({
      policy: { message_budget: null, audit_days: 31 },
    })
    expect(await audited(project.id, 'project.changed')).toMatchObject([
      { details: { fields: ['audit_days'] } },
      { details: { fields: ['name', 'message_budget', 'audit_days'], to: name } },
      { details: { fields: ['message_budget'] } },
    ])
  })

  test('of a project is refused without a field, with a taken name or an impossible value', async () => {
    const target = profileOf(await world.project())
    await refusedEmpty(target)
    for (const body of [{ policy: {} }, { policy: { audit_days: 0 } }, { name: null }, { state: 'paused' }])
      expectRefusal(await change(target, body), 'invalid_request')
    expectRefusal(await change(target, { name: world.bridge.project.name }), 'name_taken')
  })

  test('of an agent reaches its peers and its bootstrap at once, and says nothing of its texts', async () => {
    const { project, ada, ben } = await world.pair()
    const target = of(project.id, `agents/${ada.id}`)
    const before = await world.owner.ok<{ connection: object }>({ target })
    const texts = { role_name: 'Night reviewer', description: 'reads at night' }
    const changed = await change(target, { ...texts, prompt_template: 'Read slowly.' })
    expect(changed.json).toEqual({
      ...before,
      ...texts,
      role: 'night-reviewer',
      prompt_template: 'Read slowly.',
      connection: { ...before.connection, observed_at: expect.any(String) },
    })
    const { peers } = await ben.ok<{ peers: object[] }>({ target: '/api/v1/peers' })
    expect(peers).toMatchObject([{ id: ada.id, ...texts }])
    expect(await ada.ok({ target: '/api/v1/bootstrap', session: null })).toMatchObject({
      agent: { role_name: 'Night reviewer' },
      instructions: expect.stringContaining('Read slowly.'),
    })
    await change(target, { role_name: '' })
    expect(await world.owner.ok({ target })).toMatchObject({ role_name: '', description: texts.description })
    expect(await audited(project.id, 'agent.changed')).toMatchObject([
      { details: { fields: ['role_name', 'description', 'prompt_template'] } },
      { details: { fields: ['role_name'] } },
    ])
  })

  test('of an agent takes an environment of its project only', async () => {
    const { project, ada } = await world.pair()
    const target = of(project.id, `agents/${ada.id}`)
    const place = (id: string) =>
      world.owner.ok<{ id: string }>({
        target: of(id, 'environments'),
        body: { name: 'desk', kind: 'laptop' },
      })
    const [here, elsewhere] = [await place(project.id), await place(await world.project())]
    expect((await change(target, { environment_id: here.id })).json).toMatchObject({
      environment_id: here.id,
    })
    expectRefusal(await change(target, { environment_id: elsewhere.id, role_name: 'x' }), 'not_found')
    expect(await world.owner.ok({ target })).toMatchObject({ environment_id: here.id, role_name: '' })
    expect((await change(target, { environment_id: null })).json).toMatchObject({ environment_id: null })
    await refusedEmpty(target)
    for (const body of [
      { name: 'eva' },
      { role_name: 'a\u202Eb' },
      { prompt_template: 'x'.repeat(32 * 1024 + 1) },
    ])
      expectRefusal(await change(target, body), 'invalid_request')
  })

  test('of an environment keeps the other fields, also in an archived project', async () => {
    const project = await world.project()
    const made = await world.owner.ok<{ id: string }>({
      target: of(project, 'environments'),
      body: { name: 'desk', kind: 'laptop', description: 'by the window' },
    })
    const target = of(project, `environments/${made.id}`)
    await world.setProject(project, 'archived')
    expect((await change(target, { kind: 'server' })).json).toEqual({ ...made, kind: 'server' })
    expect((await change(target, { name: 'desk' })).json).toEqual({ ...made, kind: 'server' })
    await refusedEmpty(target)
    expectRefusal(await change(target, { kind: 'boat' }), 'invalid_request')
    expectRefusal(
      await change(of(await world.project(), `environments/${made.id}`), { kind: 'ci' }),
      'not_found',
    )
    expect(await audited(project, 'environment.changed')).toMatchObject([{ details: { fields: ['kind'] } }])
  })
})

describe('an enrolment', () => {
  interface Listed {
    readonly id: string
    readonly agent_id: string
    readonly state: string
    readonly credential_id: string | null
  }
  const listed = async (project: string, query = '') =>
    (await world.owner.ok<{ enrollments: Listed[] }>({ target: of(project, `enrollments${query}`) }))
      .enrollments

  test('that is revoked is refused', async () => {
    const project = await world.project()
    const agent = await world.unenrolled(project)
    const { prompt, enrollment_id } = await world.owner.ok<{ prompt: string; enrollment_id: string }>({
      target: of(project, `agents/${agent}/enrollment`),
      body: {},
    })
    const revoke = () =>
      world.owner.call({ target: of(project, `enrollments/${enrollment_id}/revoke`), body: {} })
    expect((await revoke()).json).toMatchObject({ id: enrollment_id, state: 'revoked' })
    expect((await revoke()).json).toMatchObject({ state: 'revoked' })
    expect(await audited(project, 'enrollment.revoked')).toHaveLength(1)
    await expect(enroll(world.bridge.url, codeOf(prompt), world.bridge.clock)).rejects.toThrow(
      'enrollment_revoked',
    )
  })

  test('that a newer one replaces is refused, and the audit names it', async () => {
    const project = await world.project()
    const agent = await world.unenrolled(project)
    const made = () =>
      world.owner.ok<{ enrollment_id: string }>({
        target: of(project, `agents/${agent}/enrollment`),
        body: {},
      })
    const { enrollment_id: replaced } = await made()
    expect(await audited(project, 'enrollment.revoked')).toEqual([])
    await made()
    expect(await audited(project, 'enrollment.revoked')).toMatchObject([
      { subject: { id: replaced }, details: { agent_id: agent, reason: 'replaced' } },
    ])
  })

  test('is listed in each of its states, by agent and by state, and never with its code', async () => {
    const other = await world.elsewhere()
    const { owner, clock, project, ada } = other.bridge
    const target = of(project.id, 'enrollments')
    const late = await owner.createAgent(project.id, 'late')
    await owner.enrollmentCode(project.id, late.id, { ttl_seconds: 60 })
    clock.advance(60)
    const again = await owner.createAgent(project.id, 'again')
    await owner.enrollmentCode(project.id, again.id)
    const code = await owner.enrollmentCode(project.id, again.id)
    const read = async (query = '') => {
      const reply = await owner.call({ target: `${target}${query}` })
      expect(reply.text).not.toContain(code)
      return (reply.json as { enrollments: Listed[] }).enrollments
    }
    expect((await read()).map(({ state }) => state)).toEqual([
      'claimed',
      'claimed',
      'expired',
      'revoked',
      'pending',
    ])
    for (const [state, agents] of [
      ['claimed', [ada.id, other.bridge.ben.id]],
      ['expired', [late.id]],
      ['revoked', [again.id]],
      ['pending', [again.id]],
    ] as const) {
      const found = await read(`?state=${state}`)
      expect(found.map(({ agent_id, state: its }) => [agent_id, its])).toEqual(
        agents.map((id) => [id, state]),
      )
    }
    expect((await read(`?agent_id=${ada.id}`))[0]?.credential_id).toBe(ada.enrolled.credential_id)
    expect(await read(`?agent_id=${project.id}`)).toEqual([])
  })

  test('of another project is not listed', async () => {
    const [one, other] = [await world.pair(), await world.pair()]
    expect(await listed(one.project.id, `?agent_id=${other.ada.id}`)).toEqual([])
    expect(await listed(one.project.id, `?agent_id=${one.ada.id}`)).toHaveLength(1)
  })
})

describe('lists', () => {
  test('of agents, credentials and pairings accept a filter', async () => {
    const { project, ada, ben } = await world.pair()
    const cy = await world.agent(project.id)
    await world.setAgent(project.id, cy.id, 'disabled')
    const ids = async (target: string, key: string) =>
      (await world.owner.ok<Record<string, { id: string }[]>>({ target: of(project.id, target) }))[key]?.map(
        ({ id }) => id,
      )
    expect(await ids('agents?state=disabled', 'agents')).toEqual([cy.id])
    expect(await ids('agents?state=enabled&limit=1', 'agents')).toEqual([ada.id])
    expect(await ids(`credentials?agent_id=${ben.id}`, 'credentials')).toEqual([ben.enrolled.credential_id])
    const target = of(project.id, `pairings?agent_id=${cy.id}`)
    const { pairings } = await world.owner.ok<{ pairings: { agent_ids: string[] }[] }>({ target })
    expect(pairings.map(({ agent_ids }) => agent_ids.filter((id) => id !== cy.id)[0]).sort()).toEqual(
      [ada.id, ben.id].sort(),
    )
    expectRefusal(
      await world.owner.call({ target: of(project.id, 'agents?state=asleep') }),
      'invalid_request',
    )
  })
})
