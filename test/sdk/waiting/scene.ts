/** An asker with the SDK, and answers over the wire, at a real node. The asker's requests are recorded. */

import { type Bridge, type BridgeOptions, type Message, pooledFetch } from '../../../sdk/program.ts'
import type { Fetch } from '../../../sdk/transport/fetch.ts'
import type { TestAgent } from '../../support/agent.ts'
import { bridgeOf, sessionsOf } from '../../support/sdk-listener.ts'

export interface Asker {
  readonly bridge: Bridge
  /** Method and path of each request, in the order of their starts. */
  readonly asked: string[]
  /** The number of lists of the inbox that are open now. */
  openLists(): number
}

const list = 'GET /api/v1/inbox/messages'

/** A Bridge with the existing session of the agent. */
export function askerOf(agent: TestAgent, options: Partial<BridgeOptions> = {}): Asker {
  const pool = pooledFetch()
  const asked: string[] = []
  let open = 0
  const bridge = bridgeOf(agent, {
    ...options,
    sessions: options.sessions ?? sessionsOf(agent),
    fetch: async (url, init) => {
      const what = `${init.method} ${new URL(url).pathname}`
      asked.push(what)
      if (what === list) open += 1
      try {
        return await pool.fetch(url, init)
      } finally {
        if (what === list) open -= 1
      }
    },
  })
  const close = bridge.close.bind(bridge)
  bridge.close = async () => {
    await close()
    await pool.close()
  }
  return { bridge, asked, openLists: () => open }
}

/** Replies over the wire as the other side of a question. */
export async function reply(by: TestAgent, to: Message, body: string, more: object = {}): Promise<Message> {
  const { message } = await by.ok<{ message: Message }>({
    target: '/api/v1/messages',
    body: {
      conversation_id: to.conversation_id,
      recipient_agent_id: to.sender.agent_id,
      type: 'answer',
      body,
      in_reply_to: to.id,
      ...more,
    },
  })
  return message
}

export const unacknowledged = async (agent: TestAgent): Promise<readonly string[]> => {
  const { messages } = await agent.ok<{ messages: Message[] }>({
    target: '/api/v1/inbox/messages?limit=100',
  })
  return messages.map(({ body }) => body)
}

/** Reaches the node with every request but acknowledgements, which are refused for now. */
export const refusingAcknowledgements: Fetch = async (url, init) => {
  const refusal = { error: 'rate_limited', message: 'too many', request_id: 'r-1', retry_after_ms: 1 }
  return new URL(url).pathname === '/api/v1/acknowledgements'
    ? Response.json(refusal, { status: 429 })
    : fetch(url, init)
}
