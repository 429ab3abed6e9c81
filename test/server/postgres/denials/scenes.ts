/** People whom the owner denies something at the first of two nodes, while they act at the second. */

import type { TestAgent } from '../../../support/agent.ts'
import { enroll } from '../../../support/agent.ts'
import type { Reply } from '../../../support/http.ts'
import { exchange } from '../../../support/http.ts'
import { agentAt, ownerAt, type TwoNodes } from '../../../support/nodes.ts'
import { cookieOf, TestOwner } from '../../../support/owner.ts'
import { openWait } from '../../../support/waits.ts'

/** One who acts at the second node. */
export interface Actor {
  /** Sends one request of the traffic. */
  act(): Promise<Reply>
  /** Opens a wait. */
  wait(): { readonly ended: Promise<string>; leave(): Promise<unknown> }
}

export interface AgentScene extends Actor {
  readonly project: { readonly id: string; readonly name: string }
  readonly ada: TestAgent
  readonly ben: TestAgent
}

export interface PersonScene extends Actor {
  readonly project: { readonly id: string; readonly name: string }
  readonly id: string
  /** The person at the first node. */
  readonly by: TestOwner
}

let names = 0
const fresh = (of: string): string => {
  names += 1
  return `${of} ${names}`
}

const outcome = ({ status, body }: { status: number; body: { readonly error?: string } }): string =>
  status === 200 ? 'ok' : (body.error ?? String(status))

/** Two agents of a project. Ben acts at the second node. */
export async function agentScene({ owner, first, second }: TwoNodes): Promise<AgentScene> {
  const project = await owner.createProject(fresh('project'), { policy: { message_budget: 1_000_000 } })
  const agent = async (name: string) => {
    const { id } = await owner.createAgent(project.id, name)
    const enrolled = await enroll(first.url, await owner.enrollmentCode(project.id, id), () => new Date())
    await enrolled.startSession()
    return enrolled
  }
  const [ada, ben] = [await agent('ada'), await agent('ben')]
  const body = {
    ...{ conversation_id: await ada.conversationWith(ben.id), recipient_agent_id: ada.id },
    ...{ type: 'note', body: 'traffic' },
  }
  const there = () => agentAt(second, ben)
  return {
    ...{ project, ada, ben },
    act: () => there().call({ target: '/api/v1/messages', body }),
    wait() {
      const wait = openWait(there())
      return {
        ended: wait.answer.then((found) => (found === undefined ? 'left' : outcome(found))),
        leave: () => wait.leave(),
      }
    },
  }
}

/** An administrator who reads a project at the second node. */
export async function personScene({ owner, first, second }: TwoNodes): Promise<PersonScene> {
  const project = await owner.createProject(fresh('project'))
  const { administrator, link } = await owner.ok<{ administrator: { id: string }; link: string }>({
    target: '/api/admin/administrators',
    body: { name: fresh('kim') },
  })
  const { id } = administrator
  await owner.ok({
    target: `/api/admin/administrators/${id}/assign`,
    body: { project_id: project.id, assigned: true },
  })
  const reply = await exchange(first.url, {
    method: 'POST',
    target: '/api/admin/session',
    headers: [
      ['Origin', first.url],
      ['Content-Type', 'application/json'],
    ],
    body: JSON.stringify({ link_token: new URL(link).hash.slice(1) }),
  })
  const by = new TestOwner(first.url, cookieOf(reply))
  const there = ownerAt(second, by)
  const target = `/api/admin/projects/${project.id}/events`
  const { next_after } = await there.ok<{ next_after: string }>({ target })
  return {
    ...{ project, id, by },
    act: () => there.call({ target: `${target}?after=${next_after}&kind=task.created` }),
    wait: () => ({
      ended: there
        .call({ target: `${target}?after=${next_after}&kind=task.created&wait_seconds=20` })
        .then(({ status, json }) => outcome({ status, body: json as { error?: string } })),
      leave: async () => {},
    }),
  }
}
