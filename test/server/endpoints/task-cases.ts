/** Cases of tasks, by agents and by the owner. */
import type { EndpointId } from '../../../sdk/contract/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { type Make, type SomeCases, unknownId } from './case.ts'
import { fillInbox } from './full-inbox.ts'
import type { Ready } from './send.ts'
import type { Pair, World } from './world.ts'

interface MadeTask {
  readonly id: string
  readonly claim: { readonly generation: number; readonly session_generation: number } | null
}

const fields = { title: 'Count the lines', instructions: 'wc -l README.md' }
const evidence = [
  { kind: 'command', value: 'wc -l README.md', label: 'count', sha256: 'a'.repeat(64), exit_code: 0 },
]

const input = (assignee: string) => ({
  assignee_agent_id: assignee,
  ...fields,
  due_at: '2030-01-01T00:00:00.000Z',
  claim_ttl_seconds: 60,
  max_attempts: 2,
})

const made = ({ ada, ben }: Pair, more: object = {}): Promise<MadeTask> =>
  ada.ok({ target: '/api/v1/tasks', body: { assignee_agent_id: ben.id, ...fields, ...more } })

const act = (by: TestAgent, id: string, verb: string, body: object = {}): Promise<MadeTask> =>
  by.ok({ target: `/api/v1/tasks/${id}/${verb}`, body })

const holderOf = ({ claim }: MadeTask) => ({
  claim_generation: claim?.generation ?? 1,
  session_generation: claim?.session_generation ?? 1,
})

/** Creates a task of ada that ben has claimed. */
async function claimed(world: World) {
  const pair = await world.pair()
  const task = await act(pair.ben, (await made(pair)).id, 'claim')
  return { pair, task, holder: holderOf(task), params: { id: task.id } }
}

/** Cases of the actions of a task's holder. */
const byHolder = (more: object): { success: (world: World) => Promise<Ready>; refusals: HolderRefusals } => ({
  success: async (world) => {
    const { pair, holder, params } = await claimed(world)
    return { by: pair.ben, params, body: { ...holder, ...more } }
  },
  refusals: {
    not_found: async (world) => ({
      by: await world.agent(),
      params: { id: unknownId },
      body: { ...holderOf({ id: '', claim: null }), ...more },
    }),
    not_permitted: async (world) => {
      const { pair, holder, params } = await claimed(world)
      return { by: pair.ada, params, body: { ...holder, ...more } }
    },
    state_conflict: async (world) => {
      const { pair, holder, params } = await claimed(world)
      await act(pair.ben, params.id, 'complete', { ...holder, result: '90', evidence })
      return { by: pair.ben, params, body: { ...holder, ...more } }
    },
    claim_lost: async (world) => {
      const { pair, holder, params } = await claimed(world)
      await act(pair.ben, params.id, 'release', { ...holder, reason: 'no time' })
      return { by: pair.ben, params, body: { ...holder, ...more } }
    },
    idempotency_conflict: async (world) => {
      const { pair, holder, params } = await claimed(world)
      const key = crypto.randomUUID()
      const verb = verbOf(more)
      await pair.ben.ok({ target: `/api/v1/tasks/${params.id}/${verb}`, body: { ...holder, ...more }, key })
      const other = { ...holder, ...more, claim_generation: holder.claim_generation + 1 }
      return { by: pair.ben, params, body: other, key }
    },
  },
})

type HolderRefusals = Record<
  'not_found' | 'not_permitted' | 'state_conflict' | 'claim_lost' | 'idempotency_conflict',
  Make
>

const bodies = {
  renew: {},
  progress: { note: 'half of it', percent: 50 },
  complete: { result: '90 lines', evidence },
  fail: { reason: 'no such file', evidence },
  release: { reason: 'no time' },
  stopped: {},
}

const verbs = new Map<object, string>(Object.entries(bodies).map(([verb, body]) => [body, verb]))
const verbOf = (body: object): string => verbs.get(body) ?? ''

const stopped = byHolder(bodies.stopped)

/** Cases of the actions that need no claim: decline and cancel. */
const reasoned = (
  verb: 'decline' | 'cancel',
): { success: (world: World) => Promise<Ready>; refusals: Omit<HolderRefusals, 'claim_lost'> } => {
  const right = ({ ada, ben }: Pair) => (verb === 'cancel' ? ada : ben)
  const wrong = ({ ada, ben }: Pair) => (verb === 'cancel' ? ben : ada)
  return {
    success: async (world) => {
      const pair = await world.pair()
      return { by: right(pair), params: { id: (await made(pair)).id }, body: { reason: 'not needed' } }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), params: { id: unknownId }, body: {} }),
      not_permitted: async (world) => {
        const pair = await world.pair()
        return { by: wrong(pair), params: { id: (await made(pair)).id }, body: {} }
      },
      state_conflict: async (world) => {
        const pair = await world.pair()
        const { id } = await made(pair)
        await act(pair.ben, id, 'decline')
        return { by: right(pair), params: { id }, body: {} }
      },
      idempotency_conflict: async (world) => {
        const pair = await world.pair()
        const { id } = await made(pair)
        const key = crypto.randomUUID()
        await right(pair).ok({ target: `/api/v1/tasks/${id}/${verb}`, body: {}, key })
        return { by: right(pair), params: { id }, body: { reason: 'another' }, key }
      },
    },
  }
}

/** Creates a task of the owner for ada. */
async function owners(world: World) {
  const { project, ada } = await world.pair()
  const target = `/api/admin/projects/${project.id}/tasks`
  const body = { assignee_agent_id: ada.id, ...fields }
  const { id } = await world.owner.ok<MadeTask>({ target, body, key: crypto.randomUUID() })
  return { ada, params: { id: project.id, task_id: id }, id, target }
}

const ownersNowhere: Make = async (world) => ({
  by: world.owner,
  params: { id: await world.project(), task_id: unknownId },
})

export const taskCases: SomeCases<
  Extract<EndpointId, `tasks.${string}`> | Extract<EndpointId, `owner.tasks.${string}`>
> = {
  'tasks.create': {
    success: async (world) => {
      const { ada, ben } = await world.pair()
      return { by: ada, body: input(ben.id) }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), body: input(unknownId) }),
      pairing_disabled: async (world) => {
        const pair = await world.pair()
        await world.setPairing(pair, false)
        return { by: pair.ada, body: input(pair.ben.id) }
      },
      state_conflict: async (world) => {
        const { ada, ben, project } = await world.pair()
        await world.setAgent(project.id, ben.id, 'disabled')
        return { by: ada, body: input(ben.id) }
      },
      idempotency_conflict: async (world) => {
        const { ada, ben } = await world.pair()
        const key = crypto.randomUUID()
        await ada.ok({ target: '/api/v1/tasks', body: input(ben.id), key })
        return { by: ada, body: { ...input(ben.id), title: 'Another' }, key }
      },
      project_paused: async (world) => {
        const { ada, ben, project } = await world.pair()
        await world.setProject(project.id, 'paused')
        return { by: ada, body: input(ben.id) }
      },
      capacity_reached: async (world) => {
        const other = await world.elsewhere()
        const { ada, ben } = other.bridge
        await ada.send(await ada.conversationWith(ben.id), ben.id, 'the first')
        await other.restarted((data) => fillInbox(data, ben.id))
        return { by: ada, body: input(ben.id) }
      },
    },
  },
  'tasks.list': {
    success: async (world) => {
      const pair = await world.pair()
      for (let count = 0; count < 2; count += 1) await made(pair)
      return { by: pair.ben, query: '?limit=1&state=open&role=assignee&wait_seconds=1' }
    },
    also: {
      'with a claim in it': async (world) => ({ by: (await claimed(world)).pair.ada }),
      'after a wait for nothing': async (world) => ({ by: await world.agent(), query: '?wait_seconds=1' }),
    },
    refusals: {
      wait_limit: async (world) => firstOf(await world.agent(), 3),
      capacity_reached: async (world) => {
        const { bridge } = await world.elsewhere({ settings: { max_waits: '1' } })
        return firstOf(bridge.ada, 2)
      },
    },
  },
  'tasks.get': {
    success: async (world) => {
      const { pair, holder, params } = await claimed(world)
      await act(pair.ben, params.id, 'progress', { ...holder, ...bodies.progress })
      await act(pair.ada, params.id, 'cancel', { reason: 'not needed' })
      await act(pair.ben, params.id, 'fail', { ...holder, ...bodies.fail })
      return { by: pair.ada, params }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), params: { id: unknownId } }),
    },
  },
  'tasks.timeline': {
    success: async (world) => {
      const { pair, params } = await claimed(world)
      return { by: pair.ada, params, query: '?limit=1' }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), params: { id: unknownId } }),
    },
  },
  'tasks.claim': {
    success: async (world) => {
      const pair = await world.pair()
      return { by: pair.ben, params: { id: (await made(pair)).id }, body: {} }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), params: { id: unknownId }, body: {} }),
      not_permitted: async (world) => {
        const pair = await world.pair()
        return { by: pair.ada, params: { id: (await made(pair)).id }, body: {} }
      },
      state_conflict: async (world) => {
        const pair = await world.pair()
        const { id } = await made(pair)
        await act(pair.ada, id, 'cancel')
        return { by: pair.ben, params: { id }, body: {} }
      },
      claim_held: async (world) => {
        const { pair, params } = await claimed(world)
        return { by: pair.ben, params, body: {} }
      },
      idempotency_conflict: async (world) => {
        const pair = await world.pair()
        const [one, other] = [await made(pair), await made(pair)]
        const key = crypto.randomUUID()
        await pair.ben.ok({ target: `/api/v1/tasks/${one.id}/claim`, body: {}, key })
        return { by: pair.ben, params: { id: other.id }, body: {}, key }
      },
      project_paused: async (world) => {
        const pair = await world.pair()
        const { id } = await made(pair)
        await world.setProject(pair.project.id, 'paused')
        return { by: pair.ben, params: { id }, body: {} }
      },
      pairing_disabled: async (world) => {
        const pair = await world.pair()
        const { id } = await made(pair)
        await world.setPairing(pair, false)
        return { by: pair.ben, params: { id }, body: {} }
      },
    },
  },
  'tasks.renew': byHolder(bodies.renew),
  'tasks.progress': byHolder(bodies.progress),
  'tasks.complete': byHolder(bodies.complete),
  'tasks.fail': byHolder(bodies.fail),
  'tasks.release': byHolder(bodies.release),
  'tasks.stopped': {
    success: async (world) => {
      const { pair, holder, params } = await claimed(world)
      await act(pair.ada, params.id, 'cancel')
      return { by: pair.ben, params, body: holder }
    },
    refusals: {
      ...stopped.refusals,
      idempotency_conflict: async (world) => {
        const { pair, holder, params } = await claimed(world)
        await act(pair.ada, params.id, 'cancel')
        const key = crypto.randomUUID()
        await pair.ben.ok({ target: `/api/v1/tasks/${params.id}/stopped`, body: holder, key })
        return { by: pair.ben, params, body: { ...holder, claim_generation: 9 }, key }
      },
    },
  },
  'tasks.decline': reasoned('decline'),
  'tasks.cancel': reasoned('cancel'),

  'owner.tasks.create': {
    success: async (world) => {
      const { ada, project } = await world.pair()
      return { by: world.owner, params: { id: project.id }, body: input(ada.id) }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { id: await world.project() },
        body: input(unknownId),
      }),
      state_conflict: async (world) => {
        const { ada, project } = await world.pair()
        await world.setAgent(project.id, ada.id, 'disabled')
        return { by: world.owner, params: { id: project.id }, body: input(ada.id) }
      },
      idempotency_conflict: async (world) => {
        const { ada, params, target } = await owners(world)
        const key = crypto.randomUUID()
        await world.owner.ok({ target, body: input(ada.id), key })
        const body = { ...input(ada.id), title: 'Another' }
        return { by: world.owner, params: { id: params.id }, body, key }
      },
      capacity_reached: async (world) => {
        const other = await world.elsewhere()
        const { ada, project } = other.bridge
        await other.owner.message(project.id, ada.id, 'the first')
        await other.restarted((data) => fillInbox(data, ada.id))
        return { by: other.owner, params: { id: project.id }, body: input(ada.id) }
      },
      project_archived: async (world) => {
        const { ada, project } = await world.pair()
        await world.setProject(project.id, 'archived')
        return { by: world.owner, params: { id: project.id }, body: input(ada.id) }
      },
    },
  },
  'owner.tasks.list': {
    success: async (world) => {
      const { ada, params } = await owners(world)
      const query = `?limit=1&state=open&assignee_agent_id=${ada.id}`
      return { by: world.owner, params: { id: params.id }, query }
    },
    refusals: { not_found: async (world) => ({ by: world.owner, params: { id: unknownId } }) },
  },
  'owner.tasks.get': {
    success: async (world) => ({ by: world.owner, params: (await owners(world)).params }),
    refusals: { not_found: ownersNowhere },
  },
  'owner.tasks.timeline': {
    success: async (world) => ({ by: world.owner, params: (await owners(world)).params, query: '?limit=1' }),
    refusals: { not_found: ownersNowhere },
  },
  'owner.tasks.cancel': {
    success: async (world) => ({
      by: world.owner,
      params: (await owners(world)).params,
      body: { reason: 'not needed' },
    }),
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { id: await world.project(), task_id: unknownId },
        body: {},
      }),
      state_conflict: async (world) => {
        const { ada, params, id } = await owners(world)
        await act(ada, id, 'decline')
        return { by: world.owner, params, body: {} }
      },
      idempotency_conflict: async (world) => {
        const { params, target, id } = await owners(world)
        const key = crypto.randomUUID()
        await world.owner.ok({ target: `${target}/${id}/cancel`, body: {}, key })
        return { by: world.owner, params, body: { reason: 'another' }, key }
      },
    },
  },
}

/** Sends this many waits in parallel and returns the first answer; the other waits stay open. */
const firstOf = (by: TestAgent, waits: number) =>
  Promise.race(
    Array.from({ length: waits }, () => by.call({ target: '/api/v1/tasks?state=open&wait_seconds=20' })),
  )
