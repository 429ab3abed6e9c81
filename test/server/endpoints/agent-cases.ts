/**
 * Cases of the agents' endpoints: bootstrap, guides, sessions, peers, keys, conversations, messages, inbox,
 * acknowledgements.
 */
import { contract, type EndpointId } from '../../../sdk/contract/index.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { type SomeCases, unknownId } from './case.ts'
import { fillInbox } from './full-inbox.ts'
import { type Ready, send } from './send.ts'
import type { Pair, World } from './world.ts'

const client = { name: 'test', version: '1' }

const note = ({ ada, ben, conversation }: Pair, text = 'hello'): Ready => ({
  by: ada,
  body: { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: text },
})

export const recipient = 'age1j4pr7fve4yw94r9zt3ddqehkz24ctpfmw5wkx6sc5j24yunuf4rqzq82q2'
export const otherRecipient = 'age17xek8zgv3znh9r9j8znr064sn520ylfxxymas6f248fddqf7gvaq4a9vg3'

const guide = { success: async (world: World): Promise<Ready> => ({ by: await world.agent() }), refusals: {} }

async function deviceBound(world: World): Promise<TestAgent> {
  const { project, clock, url } = world.bridge
  const code = await world.owner.enrollmentCode(project.id, await world.unenrolled(), { binding: 'device' })
  return enroll(url, code, clock, '{"os":"linux","machine":"m-1","install":"i-1"}')
}

const toOwner = async (by: TestAgent): Promise<Ready> => ({
  by,
  body: {
    conversation_id: await by.conversationWith(by.id),
    recipient_agent_id: by.id,
    type: 'question',
    body: 'may I?',
  },
})

export const agentCases: SomeCases<
  | 'bootstrap.get'
  | Extract<EndpointId, `guides.${string}`>
  | 'sessions.challenge'
  | 'connectionMode.report'
  | 'recipientKeys.register'
  | 'recipientKeys.ofConversation'
  | 'sessions.start'
  | 'sessions.close'
  | 'peers.list'
  | 'conversations.open'
  | 'conversations.list'
  | 'conversations.get'
  | 'conversations.history'
  | 'messages.send'
  | 'messages.get'
  | 'inbox.read'
  | 'inbox.list'
  | 'acknowledgements.create'
> = {
  'bootstrap.get': {
    success: async (world) => ({ by: await world.agent() }),
    refusals: {},
  },

  'guides.messaging': guide,
  'guides.tasks': guide,
  'guides.transfers': guide,
  'guides.packages': guide,

  'sessions.challenge': {
    success: async (world) => ({ by: await deviceBound(world), body: {} }),
    refusals: {
      state_conflict: async (world) => ({ by: await world.enrolled(), body: {} }),
    },
  },

  'sessions.start': {
    success: async (world) => ({
      by: await world.enrolled(),
      body: { instance_id: crypto.randomUUID(), client },
    }),
    also: {
      'to the same instance again': async (world) => {
        const by = await world.agent()
        return { by, body: { instance_id: by.instanceId, client } }
      },
    },
    refusals: {
      session_active: async (world) => ({
        by: await world.agent(),
        body: { instance_id: crypto.randomUUID(), client },
      }),
      challenge_invalid: async (world) => ({
        by: await deviceBound(world),
        body: { instance_id: crypto.randomUUID(), client },
      }),
      takeover_pending: async (world) => {
        const by = await world.agent()
        await world.owner.takeover(by.enrolled.project.id, by.id)
        return { by, body: { instance_id: by.instanceId, client } }
      },
      grant_invalid: async (world) => {
        const by = await world.agent()
        return { by, body: { instance_id: by.instanceId, client, takeover_grant: 'A'.repeat(43) } }
      },
    },
  },

  'sessions.close': {
    success: async (world) => ({ by: await world.agent(), body: {} }),
    refusals: {},
  },

  'connectionMode.report': {
    success: async (world) => ({
      by: await world.agent(),
      body: { mode: 'short_poll', interval_seconds: 60 },
    }),
    also: {
      'at checkpoints': async (world) => ({ by: await world.agent(), body: { mode: 'checkpoint' } }),
    },
    refusals: {},
  },

  'recipientKeys.register': {
    success: async (world) => ({ by: await world.agent(), body: { recipient } }),
    also: {
      again: async (world) => {
        const by = await world.agent()
        await by.ok({ target: '/api/v1/recipient-key', body: { recipient } })
        return { by, body: { recipient } }
      },
    },
    refusals: {
      recipient_key_conflict: async (world) => {
        const by = await world.agent()
        await by.ok({ target: '/api/v1/recipient-key', body: { recipient } })
        return { by, body: { recipient: otherRecipient } }
      },
    },
  },

  'recipientKeys.ofConversation': {
    success: async (world) => {
      const { ada, ben, conversation } = await world.pair()
      await ben.ok({ target: '/api/v1/recipient-key', body: { recipient } })
      return { by: ada, params: { id: conversation } }
    },
    refusals: {
      not_found: async (world) => {
        const { ada, conversation } = await world.pair()
        return { by: ada, params: { id: conversation } }
      },
    },
  },

  'peers.list': {
    success: async (world) => ({ by: (await world.pair()).ada, query: '?limit=1' }),
    refusals: {},
  },

  'conversations.open': {
    success: async (world) => {
      const { ada, ben } = await world.pair()
      return { by: ada, body: { recipient_agent_id: ben.id } }
    },
    also: {
      'with the owner': async (world) => {
        const by = await world.agent()
        return { by, body: { recipient_agent_id: by.id } }
      },
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), body: { recipient_agent_id: unknownId } }),
      pairing_disabled: async (world) => {
        const pair = await world.pair()
        await world.setPairing(pair, false)
        return { by: pair.ada, body: { recipient_agent_id: pair.ben.id } }
      },
      state_conflict: async (world) => {
        const { ada, ben, project } = await world.pair()
        await world.setAgent(project.id, ben.id, 'disabled')
        return { by: ada, body: { recipient_agent_id: ben.id } }
      },
      idempotency_conflict: async (world) => {
        const { ada, ben } = await world.pair()
        const key = crypto.randomUUID()
        await ada.ok({ target: '/api/v1/conversations', body: { recipient_agent_id: ben.id }, key })
        return { by: ada, body: { recipient_agent_id: ada.id }, key }
      },
      project_paused: async (world) => {
        const { ada, ben, project } = await world.pair()
        await world.setProject(project.id, 'paused')
        return { by: ada, body: { recipient_agent_id: ben.id } }
      },
    },
  },

  'conversations.list': {
    success: async (world) => {
      const { ada } = await world.pair()
      await ada.conversationWith(ada.id)
      return { by: ada, query: '?limit=1' }
    },
    refusals: {},
  },

  'conversations.get': {
    success: async (world) => {
      const { ada, conversation } = await world.pair()
      return { by: ada, params: { id: conversation } }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), params: { id: unknownId } }),
    },
  },

  'conversations.history': {
    success: async (world) => {
      const { ada, ben, conversation } = await world.pair()
      for (const text of ['one', 'two', 'three']) await ada.send(conversation, ben.id, text)
      return { by: ben, params: { id: conversation }, query: '?after_sequence=1&limit=1' }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), params: { id: unknownId } }),
    },
  },

  'messages.send': {
    success: async (world) => {
      const pair = await world.pair()
      const { ada, ben, conversation } = pair
      const asked = await ben.send(conversation, ada.id, 'how many?')
      return {
        by: ada,
        body: {
          ...(note(pair).body as object),
          encoding: 'text',
          in_reply_to: asked.id,
          expects_reply_by: '2030-01-01T00:00:00.000Z',
        },
      }
    },
    also: {
      'to the owner': async (world) => toOwner(await world.agent()),
      'to a peer, in its shortest form': async (world) => note(await world.pair()),
    },
    refusals: {
      not_found: async (world) => {
        const { ben, ...pair } = await world.pair()
        return note({ ...pair, ben, conversation: unknownId })
      },
      pairing_disabled: async (world) => {
        const pair = await world.pair()
        await world.setPairing(pair, false)
        return note(pair)
      },
      state_conflict: async (world) => {
        const pair = await world.pair()
        await world.setAgent(pair.project.id, pair.ben.id, 'disabled')
        return note(pair)
      },
      idempotency_conflict: async (world) => {
        const pair = await world.pair()
        const key = crypto.randomUUID()
        await pair.ada.send(pair.conversation, pair.ben.id, 'first', key)
        return { ...note(pair, 'second'), key }
      },
      project_paused: async (world) => {
        const pair = await world.pair()
        await world.setProject(pair.project.id, 'paused')
        return note(pair)
      },
      conversation_budget: async (world) => {
        const project = await world.owner.createProject(world.name('project'), {
          policy: { message_budget: 2 },
        })
        const ada = await world.agent(project.id)
        const ben = await world.agent(project.id)
        const pair = { project, ada, ben, conversation: await ada.conversationWith(ben.id) }
        for (const text of ['one', 'two']) await ada.send(pair.conversation, ben.id, text)
        return note(pair)
      },
      capacity_reached: async (world) => {
        const other = await world.elsewhere()
        const { ada, ben } = other.bridge
        const conversation = await ada.conversationWith(ben.id)
        await ada.send(conversation, ben.id, 'the first')
        await other.restarted((data) => fillInbox(data, ben.id))
        return note({ project: other.bridge.project, ada, ben, conversation })
      },
    },
  },

  'messages.get': {
    success: async (world) => {
      const { ada, ben, conversation } = await world.pair()
      const sent = await ada.send(conversation, ben.id, 'hello')
      return { by: ada, params: { id: sent.id } }
    },
    refusals: {
      not_found: async (world) => ({ by: await world.agent(), params: { id: unknownId } }),
    },
  },

  'inbox.read': {
    success: async (world) => {
      const { ada, ben, conversation } = await world.pair()
      for (const text of ['one', 'two']) await ada.send(conversation, ben.id, text)
      return { by: ben, query: '?wait_seconds=0&limit=1' }
    },
    also: {
      'with nothing in it': async (world) => ({ by: await world.agent(), query: '?wait_seconds=0' }),
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

  'inbox.list': {
    success: async (world) => {
      const { ada, ben, conversation } = await world.pair()
      for (const text of ['one', 'two']) await ada.send(conversation, ben.id, text)
      await ben.ok({ target: '/api/v1/inbox?limit=1' })
      return { by: ben, query: '?limit=1' }
    },
    also: {
      'with nothing in it': async (world) => ({ by: await world.agent() }),
      'after a wait for nothing': async (world) => ({ by: await world.agent(), query: '?wait_seconds=1' }),
    },
    refusals: {
      wait_limit: async (world) => firstList(Array(2).fill(await world.agent())),
      capacity_reached: async (world) => {
        const { bridge } = await world.elsewhere({ settings: { max_waits: '1' } })
        return firstList([bridge.ada, bridge.ben])
      },
    },
  },

  'acknowledgements.create': {
    success: async (world) => {
      const { ada, ben, conversation } = await world.pair()
      const one = await ada.send(conversation, ben.id, 'one')
      const two = await ada.send(conversation, ben.id, 'two')
      await ben.ok({ target: '/api/v1/acknowledgements', body: { message_ids: [one.id] } })
      return { by: ben, body: { message_ids: [one.id, two.id] } }
    },
    refusals: {
      not_found: async (world) => {
        const { ada, ben, conversation } = await world.pair()
        const own = await ada.send(conversation, ben.id, 'one')
        return { by: ben, body: { message_ids: [own.id, unknownId] } }
      },
    },
  },
}

/** Sends this many reads in parallel and returns the first answer; the other reads stay open. */
function firstOf(by: TestAgent, reads: number) {
  const waits = Array.from({ length: reads }, () =>
    send(contract.inbox.read, { by, query: '?wait_seconds=20' }),
  )
  return Promise.race(waits)
}

/** Sends a list of the inbox for each of these agents and returns the first answer. */
const firstList = (agents: readonly TestAgent[]) =>
  Promise.race(agents.map((by) => send(contract.inbox.list, { by, query: '?wait_seconds=20' })))
