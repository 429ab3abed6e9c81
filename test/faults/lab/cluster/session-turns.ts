/**
 * An agent that ends its session at one node and starts the next one at another. After each start all nodes are asked
 * with the ended session: none may accept it, however late it answers. So a node that was suspended is seen too.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestAgent } from '../../../support/agent.ts'
import type { Reply } from '../../../support/http.ts'
import type { ServerProcess } from '../../../support/process.ts'
import type { Calls } from './calls.ts'
import type { Held } from './rules.ts'

const everyMs = 3000

/** Calls `sampled` once all nodes have answered a turn. Resolves after the calls are over and every node has answered. */
export async function turnSessions(
  calls: Calls,
  { agent, nodes }: { readonly agent: TestAgent; readonly nodes: readonly ServerProcess[] },
  sampled: (held: Held) => void,
): Promise<void> {
  const isAccepted = (node: ServerProcess, session: string): Promise<boolean> =>
    calls
      .at(agent, node)
      .call({ target: '/api/v1/inbox/messages?limit=1', session })
      .then(
        ({ status }) => status === 200,
        () => false,
      )
  const ask = async (ended: string, id: string, what: string): Promise<void> => {
    const accepted = await Promise.all(nodes.map((node) => isAccepted(node, ended)))
    sampled({ what, holders: accepted.includes(true) ? [ended, id] : [id] })
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
  const asked: Promise<void>[] = []
  while (!calls.isOver) {
    const ended = agent.session?.id ?? ''
    await calls.granted('the end of a session', closer())
    const reply = await calls.granted('the start of a session', (node) =>
      calls.at(agent, node).requestSession(agent.instanceId),
    )
    if (reply === undefined) break
    agent.session = reply.json as { id: string; generation: number }
    const { id, generation } = agent.session
    asked.push(ask(ended, id, `session ${generation} of ${agent.id}`))
    await sleep(everyMs)
  }
  await Promise.all(asked)
}

const isEnded = ({ status, json }: Reply): boolean =>
  status === 409 && (json as { error: string }).error === 'session_closed'
