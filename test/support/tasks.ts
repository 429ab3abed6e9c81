/** Requests on tasks, for tests of the server. */
import { randomUUID } from 'node:crypto'
import type { Evidence, Task, TaskList, TaskTimeline } from '../../sdk/contract/agent/tasks.ts'
import type { TestAgent } from './agent.ts'
import type { TestBridge } from './bridge.ts'
import type { Reply } from './http.ts'

export const evidence: Evidence[] = [{ kind: 'text', value: 'counted by hand' }]

export interface Held {
  readonly claim_generation: number
  readonly session_generation: number
}

export const heldBy = ({ claim }: Task): Held => {
  if (claim === null) throw new Error('the task is not claimed')
  return { claim_generation: claim.generation, session_generation: claim.session_generation }
}

export const createTask = (
  by: TestAgent,
  to: Pick<TestAgent, 'id'>,
  fields: object = {},
  key?: string,
): Promise<Task> =>
  by.ok({
    target: '/api/v1/tasks',
    body: { assignee_agent_id: to.id, title: 'Count', instructions: 'count the lines', ...fields },
    ...(key !== undefined && { key }),
  })

/** Sends one mutation and returns its reply, whatever it is. */
export const ask = (
  by: TestAgent,
  id: string,
  verb: string,
  body: object = {},
  key?: string,
): Promise<Reply> =>
  by.call({ target: `/api/v1/tasks/${id}/${verb}`, body, ...(key !== undefined && { key }) })

/** Sends one mutation that must succeed. */
export const act = (
  by: TestAgent,
  id: string,
  verb: string,
  body: object = {},
  key?: string,
): Promise<Task> => by.ok({ target: `/api/v1/tasks/${id}/${verb}`, body, ...(key !== undefined && { key }) })

export const getTask = (by: TestAgent, id: string): Promise<Task> => by.ok({ target: `/api/v1/tasks/${id}` })

export const listTasks = (by: TestAgent, query = ''): Promise<TaskList> =>
  by.ok({ target: `/api/v1/tasks${query}` })

export const timelineOf = async (by: TestAgent, id: string): Promise<string[]> => {
  const { entries } = await by.ok<TaskTimeline>({ target: `/api/v1/tasks/${id}/timeline` })
  return entries.map(({ event }) => event)
}

export const createAsOwner = (
  { owner, project }: TestBridge,
  to: TestAgent,
  fields: object = {},
): Promise<Task> =>
  owner.ok({
    target: `/api/admin/projects/${project.id}/tasks`,
    body: { assignee_agent_id: to.id, title: 'Count', instructions: 'count the lines', ...fields },
    key: randomUUID(),
  })

export const cancelAsOwner = async (
  bridge: TestBridge,
  id: string,
  key: string = randomUUID(),
): Promise<Task> => {
  const target = `/api/admin/projects/${bridge.project.id}/tasks/${id}/cancel`
  return (await bridge.owner.ok<{ task: Task }>({ target, body: {}, key })).task
}

export interface TaskMessage {
  readonly id: string
  readonly type: string
  readonly task_id: string | null
  readonly body: string
  readonly sender: { readonly kind: string; readonly agent_id?: string; readonly name: string }
}

/**
 * Reads the notifications of an agent about a task: the first words of each message, oldest first.
 * Acknowledges all.
 */
export async function toldOf(by: TestAgent, taskId: string): Promise<string[]> {
  const told: string[] = []
  for (;;) {
    const { messages } = await by.inbox('?limit=100')
    if (messages.length === 0) return told
    await by.acknowledge(...messages.map(({ id }) => id))
    for (const message of messages as unknown as TaskMessage[]) {
      if (message.task_id === taskId) told.push(message.body.split(':')[0] ?? '')
    }
  }
}

export const codeOf = (reply: Reply): string =>
  reply.status === 200 ? 'ok' : (reply.json as { error: string }).error
