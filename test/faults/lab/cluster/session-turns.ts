/**
 * An agent that ends its session at one node and starts the next one at another. After each start all nodes are asked
 * with the ended session: none may accept it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestAgent } from '../../../support/agent.ts'
import type { Reply } from '../../../support/http.ts'
import type { ServerProcess } from '../../../support/process.ts'
import type { Calls } from './calls.ts'
import type { Held } from './rules.ts'

const everyMs = 3000

/** Calls `sampled` after each turn, until the calls are over. */
export async function turnSessions(
  calls: Calls,
  { agent, nodes }: { readonly agent: TestAgent; readonly nodes: readonly ServerProcess[] },
  sampled: (held: Held) => void,
): Promise<void> {
  const isAccepted = async (node: ServerProcess, session: string): Promise<boolean> => {
    const target = '/api/v1/inbox/messages?limit=1'
    const reply = await calls.answered(calls.at(agent, node).call({ target, session }))
    return reply?.status === 200
  }
  /** A try without an answer may have ended the session. The next one is then refused, which ends the repetition too. */
  const closer = () => {
    let tries = 0
    return async (node: ServerProcess): Promise<Reply> => {
      tries += 1
      const reply = await calls
        .at(agent, node)
        .call({ target: '/api/v1/sessions/current/close', body: {}, key: null })
      return tries > 1 && isEnded(reply) ? { ...reply, status: 200 } : reply
    }
  }
  while (!calls.isOver) {
    const ended = agent.session?.id ?? ''
    if ((await calls.granted('the end of a session', closer())) === undefined) return
    const reply = await calls.granted('the start of a session', (node) =>
      calls.at(agent, node).requestSession(),
    )
    if (reply === undefined) return
    agent.session = reply.json as { id: string; generation: number }
    const { id, generation } = agent.session
    const accepted = await Promise.all(nodes.map((node) => isAccepted(node, ended)))
    const holders = accepted.includes(true) ? [ended, id] : [id]
    sampled({ what: `session ${generation} of ${agent.id}`, holders })
    await sleep(everyMs)
  }
}

const isEnded = ({ status, json }: Reply): boolean =>
  status === 409 && (json as { error: string }).error === 'session_closed'
