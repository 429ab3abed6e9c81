/** Cases of the owner's actions: projects, environments, agents, pairings, messages. */
import type { EndpointId } from '../../../sdk/contract/index.ts'
import { type Make, type SomeCases, unknownId } from './case.ts'
import { fillInbox } from './full-inbox.ts'
import type { Ready } from './send.ts'
import type { World } from './world.ts'

const nowhere =
  (body?: unknown): Make =>
  async (world) => ({ by: world.owner, params: { id: unknownId }, ...(body !== undefined && { body }) })

const inProject = async (world: World, body?: unknown): Promise<Ready> => ({
  by: world.owner,
  params: { id: await world.project() },
  ...(body !== undefined && { body }),
})

/** A request about an environment that was just created. */
async function inEnvironment(world: World, body?: unknown): Promise<Ready> {
  const ready = await inProject(world, body)
  const target = `/api/admin/projects/${ready.params?.id}/environments`
  const { id } = await world.owner.ok<{ id: string }>({ target, body: environment })
  return { ...ready, params: { ...ready.params, environment_id: id } }
}

const environment = { name: 'lab', kind: 'container', description: 'a quiet place' }
const agent = { name: 'cy', role_name: 'Reviewer', description: 'reads', prompt_template: 'read with care' }
const policy = { idle_seconds: 60, empty_polls: 5, message_budget: 60, retention_days: 90, audit_days: 365 }

export const { success: listed, refusals: listedNowhere } = {
  success: async (world: World): Promise<Ready> => ({
    by: world.owner,
    params: { id: (await world.pair()).project.id },
    query: '?limit=1',
  }),
  refusals: { not_found: nowhere() },
}

/** The ids of an agent that is not enrolled and of its project. */
export async function placed(world: World) {
  const id = await world.project()
  return { id, agent_id: await world.unenrolled(id) }
}

/** An agent id that the project does not have. */
export const unknownAgent =
  (body?: object): Make =>
  async (world) => ({
    by: world.owner,
    params: { ...(await placed(world)), agent_id: unknownId },
    ...(body !== undefined && { body }),
  })

/** Creates a message from an agent to its owner. */
async function written(world: World) {
  const { ada, project } = await world.pair()
  const conversation = await ada.conversationWith(ada.id)
  return { id: project.id, conversation, message: await ada.send(conversation, ada.id, 'done') }
}

export const ownerCases: SomeCases<
  Extract<
    EndpointId,
    `owner.${'projects' | 'environments' | 'agents' | 'pairings' | 'messages' | 'inbox' | 'conversations'}.${string}`
  >
> = {
  'owner.projects.list': { success: async (world) => ({ by: world.owner, query: '?limit=1' }), refusals: {} },
  'owner.projects.create': {
    success: async (world) => ({
      by: world.owner,
      body: { name: world.name('project'), description: 'new', policy },
    }),
    refusals: {
      name_taken: async (world) => ({ by: world.owner, body: { name: world.bridge.project.name } }),
    },
  },
  'owner.projects.setState': {
    success: (world) => inProject(world, { state: 'paused' }),
    refusals: {
      not_found: nowhere({ state: 'paused' }),
      state_conflict: async (world) => {
        const ready = await inProject(world, { state: 'active' })
        await world.setProject(ready.params?.id ?? '', 'archived')
        return ready
      },
    },
  },

  'owner.projects.change': {
    success: (world) =>
      inProject(world, {
        name: world.name('project'),
        description: 'changed',
        policy: { ...policy, idle_seconds: null },
      }),
    also: {
      'to what it already is': (world) =>
        inProject(world, { description: '', policy: { empty_polls: null } }),
    },
    refusals: {
      not_found: nowhere({ description: 'changed' }),
      name_taken: (world) => inProject(world, { name: world.bridge.project.name }),
    },
  },
  'owner.projects.delete': {
    success: async (world) => {
      const name = world.name('project')
      const { id } = await world.owner.createProject(name)
      return { by: world.owner, params: { id }, body: { confirm_name: name } }
    },
    refusals: { not_found: nowhere({ confirm_name: 'nothing' }) },
  },

  'owner.environments.create': {
    success: (world) => inProject(world, environment),
    refusals: {
      not_found: nowhere(environment),
      name_taken: async (world) => {
        const ready = await inProject(world, environment)
        await world.owner.ok({
          target: `/api/admin/projects/${ready.params?.id}/environments`,
          body: environment,
        })
        return ready
      },
    },
  },
  'owner.environments.get': {
    success: (world) => inEnvironment(world),
    refusals: {
      not_found: async (world) => {
        const ready = await inProject(world)
        return { ...ready, params: { ...ready.params, environment_id: unknownId } }
      },
    },
  },
  'owner.environments.change': {
    success: (world) => inEnvironment(world, { name: 'attic', kind: 'server', description: 'a warm place' }),
    also: { 'to what it already is': (world) => inEnvironment(world, environment) },
    refusals: {
      not_found: async (world) => {
        const ready = await inProject(world, { kind: 'server' })
        return { ...ready, params: { ...ready.params, environment_id: unknownId } }
      },
      name_taken: async (world) => {
        const ready = await inEnvironment(world, { name: 'desk' })
        const target = `/api/admin/projects/${ready.params?.id}/environments`
        await world.owner.ok({ target, body: { ...environment, name: 'desk' } })
        return ready
      },
    },
  },
  'owner.environments.list': {
    success: async (world) => {
      const ready = await inProject(world)
      const target = `/api/admin/projects/${ready.params?.id}/environments`
      for (const name of ['lab', 'desk']) await world.owner.ok({ target, body: { ...environment, name } })
      return { ...ready, query: '?limit=1' }
    },
    refusals: listedNowhere,
  },

  'owner.agents.create': {
    success: async (world) => {
      const ready = await inProject(world)
      const target = `/api/admin/projects/${ready.params?.id}/environments`
      const { id } = await world.owner.ok<{ id: string }>({ target, body: environment })
      return { ...ready, body: { ...agent, environment_id: id } }
    },
    refusals: {
      not_found: nowhere(agent),
      name_taken: async (world) => {
        const ready = await inProject(world, agent)
        await world.owner.createAgent(ready.params?.id ?? '', agent.name)
        return ready
      },
    },
  },
  'owner.agents.list': { success: listed, refusals: listedNowhere },
  'owner.agents.get': {
    success: async (world) => ({ by: world.owner, params: await placed(world) }),
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { ...(await placed(world)), agent_id: unknownId },
      }),
    },
  },
  'owner.agents.change': {
    success: async (world) => {
      const { params } = await inEnvironment(world)
      const { id = '', environment_id } = params ?? {}
      const { name: _, ...profile } = agent
      const body = { ...profile, environment_id }
      return { by: world.owner, params: { id, agent_id: await world.unenrolled(id) }, body }
    },
    also: {
      'to what it already is': async (world) => ({
        by: world.owner,
        params: await placed(world),
        body: { role_name: '', environment_id: null },
      }),
    },
    refusals: { not_found: unknownAgent({ role_name: 'reader' }) },
  },
  'owner.agents.rename': {
    success: async (world) => ({ by: world.owner, params: await placed(world), body: { name: 'eva' } }),
    refusals: {
      not_found: unknownAgent({ name: 'eva' }),
      name_taken: async (world) => {
        const params = await placed(world)
        await world.owner.createAgent(params.id, 'eva')
        return { by: world.owner, params, body: { name: 'eva' } }
      },
    },
  },
  'owner.agents.setInstructions': {
    success: async (world) => ({
      by: world.owner,
      params: await placed(world),
      body: { instructions: 'Read twice.', if_updated_at: null },
    }),
    refusals: {
      not_found: unknownAgent({ instructions: '' }),
      state_conflict: async (world) => ({
        by: world.owner,
        params: await placed(world),
        body: { instructions: 'Read twice.', if_updated_at: '2026-01-01T00:00:00.000Z' },
      }),
    },
  },
  'owner.agents.instructions': {
    success: async (world) => ({ by: world.owner, params: await placed(world) }),
    refusals: { not_found: unknownAgent() },
  },
  'owner.agents.setState': {
    success: async (world) => {
      const { project, ada } = await world.pair()
      return { by: world.owner, params: { id: project.id, agent_id: ada.id }, body: { state: 'disabled' } }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { ...(await placed(world)), agent_id: unknownId },
        body: { state: 'disabled' },
      }),
    },
  },

  'owner.pairings.set': {
    success: async (world) => {
      const { project, ada, ben } = await world.pair()
      const body = { agent_ids: [ben.id, ada.id], enabled: false }
      return { by: world.owner, params: { id: project.id }, body }
    },
    refusals: {
      not_found: async (world) => {
        const { id, agent_id } = await placed(world)
        return { by: world.owner, params: { id }, body: { agent_ids: [agent_id, unknownId], enabled: true } }
      },
    },
  },
  'owner.pairings.list': { success: listed, refusals: listedNowhere },

  'owner.messages.send': {
    success: async (world) => {
      const { ada, ben, project, conversation } = await world.pair()
      const { id } = await ada.send(conversation, ben.id, 'who decides?')
      return {
        by: world.owner,
        params: { id: project.id },
        body: {
          recipient_agent_id: ada.id,
          conversation_id: conversation,
          type: 'answer',
          body: 'I do',
          in_reply_to: id,
          expects_reply_by: '2030-01-01T00:00:00.000Z',
        },
      }
    },
    also: {
      'in the owner conversation': async (world) => {
        const { id, agent_id } = await placed(world)
        return { by: world.owner, params: { id }, body: { recipient_agent_id: agent_id, body: 'hello' } }
      },
    },
    refusals: {
      not_found: async (world) => inProject(world, { recipient_agent_id: unknownId, body: 'hello' }),
      idempotency_conflict: async (world) => {
        const { id, agent_id } = await placed(world)
        const target = `/api/admin/projects/${id}/messages`
        const key = crypto.randomUUID()
        await world.owner.ok({ target, body: { recipient_agent_id: agent_id, body: 'first' }, key })
        return {
          by: world.owner,
          params: { id },
          body: { recipient_agent_id: agent_id, body: 'second' },
          key,
        }
      },
      capacity_reached: async (world) => {
        const other = await world.elsewhere()
        const { ada, project } = other.bridge
        await other.owner.message(project.id, ada.id, 'the first')
        await other.restarted((data) => fillInbox(data, ada.id))
        return {
          by: other.owner,
          params: { id: project.id },
          body: { recipient_agent_id: ada.id, body: 'more' },
        }
      },
      project_archived: async (world) => {
        const { id, agent_id } = await placed(world)
        await world.setProject(id, 'archived')
        return { by: world.owner, params: { id }, body: { recipient_agent_id: agent_id, body: 'hello' } }
      },
    },
  },
  'owner.messages.acknowledge': {
    success: async (world) => {
      const { id, message } = await written(world)
      return { by: world.owner, params: { id }, body: { message_ids: [message.id] } }
    },
    refusals: {
      not_found: async (world) => {
        const { id, message } = await written(world)
        return { by: world.owner, params: { id }, body: { message_ids: [message.id, unknownId] } }
      },
    },
  },

  'owner.inbox.list': {
    success: async (world) => {
      await written(world)
      return { by: world.owner, query: '?limit=1' }
    },
    refusals: {},
  },
  'owner.inbox.ofProject': {
    success: async (world) => {
      const { id } = await written(world)
      return { by: world.owner, params: { id }, query: '?limit=1' }
    },
    refusals: { not_found: nowhere() },
  },

  'owner.conversations.list': { success: listed, refusals: listedNowhere },
  'owner.conversations.get': {
    success: async (world) => {
      const { id, conversation } = await written(world)
      return { by: world.owner, params: { id, conversation_id: conversation } }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { id: await world.project(), conversation_id: unknownId },
      }),
    },
  },
  'owner.conversations.history': {
    success: async (world) => {
      const { id, conversation } = await written(world)
      return { by: world.owner, params: { id, conversation_id: conversation }, query: '?before_sequence=2' }
    },
    refusals: {
      not_found: async (world) => ({
        by: world.owner,
        params: { id: await world.project(), conversation_id: unknownId },
      }),
    },
  },
}
