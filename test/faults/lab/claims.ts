/**
 * Many claimers on the same tasks, in this process: each is a client of the same assignee and uses its own
 * keys. The rules of tasks check their answers.
 *
 * Reliability §3.1 F22, §1 P4.
 */
import type { Task, TaskList } from '../../../sdk/contract/agent/tasks.ts'
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import type { Reply } from '../../support/http.ts'
import { withStoreCopy } from '../../support/store-copy.ts'
import { machineMs } from './client-log.ts'
import type { AuditRecord, Operation, Run, StoredMessage } from './history.ts'
import type { holderOps, StoredTask, TaskOp } from './task-effects.ts'

/** An agent, or the owner. */
export interface Caller {
  readonly id: string
  readonly session?: { readonly id: string } | undefined
  call(asked: { readonly target: string; readonly body: object; readonly key: string }): Promise<Reply>
}

interface Asked {
  readonly target: string
  readonly body: object
  readonly task?: string
  readonly generation?: number
}

export class Claimers {
  readonly operations: Operation[] = []
  readonly refusals: Reply[] = []
  readonly #bridge: TestBridge

  constructor(bridge: TestBridge) {
    this.#bridge = bridge
  }

  /** Sends one mutation with a fresh key and records it as a client would. */
  async do(by: Caller, op: TaskOp, { target, body, ...named }: Asked): Promise<Reply> {
    const key = crypto.randomUUID()
    const session = by.session?.id ?? null
    const invoked = machineMs()
    const reply = await by.call({ target, body: withKey(op, body, key), key })
    if (reply.status !== 200) this.refusals.push(reply)
    this.operations.push({
      client: by.id,
      op,
      invoked,
      returned: machineMs(),
      outcome: reply.status === 200 ? 'ok' : reply.status < 500 ? 'fail' : 'info',
      key,
      session,
      conversation: null,
      text: null,
      messageIds: [],
      after: 0,
      ...named,
      code: reply.status === 200 ? null : (reply.json as { error: string }).error,
      answer: reply.text,
    })
    return reply
  }

  /** Creates this many tasks for the assignee. */
  async give(count: number, from: TestAgent, to: TestAgent): Promise<Task[]> {
    const tasks: Task[] = []
    for (let index = 0; index < count; index += 1) {
      const body = { assignee_agent_id: to.id, instructions: 'do it', claim_ttl_seconds: 30 }
      tasks.push((await this.do(from, 'task.create', { target: '/api/v1/tasks', body })).json as Task)
    }
    return tasks
  }

  claim(by: TestAgent, id: string): Promise<Reply> {
    return this.do(by, 'task.claim', { target: `/api/v1/tasks/${id}/claim`, body: {}, task: id })
  }

  cancel(by: TestAgent, id: string): Promise<Reply> {
    return this.do(by, 'task.cancel', { target: `/api/v1/tasks/${id}/cancel`, body: {}, task: id })
  }

  cancelAsOwner(id: string): Promise<Reply> {
    const { owner, project } = this.#bridge
    const target = `/api/admin/projects/${project.id}/tasks/${id}/cancel`
    const call = async (asked: Parameters<Caller['call']>[0]) => {
      const reply = await owner.call(asked)
      // Only the task, which is the answer of the other operations.
      const json = reply.status === 200 ? (reply.json as { task: Task }).task : reply.json
      return { ...reply, json, text: JSON.stringify(json) }
    }
    return this.do({ id: 'the owner', call }, 'task.cancel', { target, body: {}, task: id })
  }

  complete(by: TestAgent, task: Task): Promise<Reply> {
    return this.hold(by, 'task.complete', task)
  }

  /** Performs an operation of a claim's holder, or of an agent that believes it is the holder. */
  hold(by: TestAgent, op: (typeof holderOps)[number], { id, claim }: Task): Promise<Reply> {
    const named = { claim_generation: claim?.generation, session_generation: claim?.session_generation }
    return this.do(by, op, {
      target: `/api/v1/tasks/${id}/${op.replace('task.', '')}`,
      body: named,
      task: id,
      generation: claim?.generation ?? 0,
    })
  }

  /** Reads the present state of the server: tasks and messages through its API, the audit from its store. */
  async run(reader: TestAgent): Promise<Run> {
    const tasks: Task[] = []
    for (let after: string | null = null, more = true; more; ) {
      const page: TaskList = await reader.ok({
        target: `/api/v1/tasks?limit=100${after ? `&after=${after}` : ''}`,
      })
      tasks.push(...page.tasks)
      after = page.next_after
      more = page.has_more
    }
    const conversations = new Map<string, StoredMessage[]>()
    for (const id of new Set(tasks.map(({ conversation_id }) => conversation_id))) {
      const all: StoredMessage[] = []
      for (let from = 0, more = true; more; ) {
        const target = `/api/v1/conversations/${id}/messages?after_sequence=${from}&limit=100`
        const page = await reader.ok<{ messages: StoredMessage[]; next_sequence: number; has_more: boolean }>(
          { target },
        )
        all.push(...page.messages)
        from = page.next_sequence
        more = page.has_more
      }
      conversations.set(id, all)
    }
    return { operations: this.operations, conversations, ...this.#stored(tasks) }
  }

  #stored(tasks: readonly Task[]): { tasks: StoredTask[]; audit: AuditRecord[] } {
    return withStoreCopy(this.#bridge.data, (store) => {
      const generations = new Map(
        store
          .prepare<{ id: string; claim_generation: number }>('SELECT id, claim_generation FROM tasks')
          .all()
          .map(({ id, claim_generation }) => [id, claim_generation]),
      )
      const audit = store
        .prepare<{ kind: string; subject_id: string; at: string; details: string }>(
          "SELECT kind, subject_id, at, details FROM audit WHERE kind LIKE 'task.%' ORDER BY id",
        )
        .all()
        .map(({ details, ...record }) => ({ ...record, details: JSON.parse(details) as object }))
      return {
        audit,
        tasks: tasks.map(({ id, title, state, conversation_id, claim_ttl_seconds, ...task }) => ({
          ...{ id, title, state, conversation_id, claim_ttl_seconds },
          generation: generations.get(id) ?? 0,
          result: task.outcome?.result ?? null,
          cancel_requested_at: task.cancellation?.requested_at ?? null,
          stop_confirmed_at: task.cancellation?.stop_confirmed_at ?? null,
        })),
      }
    })
  }
}

/**
 * The key is the title of a created task and the result or reason of an ended one, so that the checker can
 * find it.
 */
function withKey(op: TaskOp, body: object, key: string): object {
  if (op === 'task.create') return { ...body, title: key }
  if (op === 'task.complete') return { ...body, result: key, evidence: [{ kind: 'text', value: 'seen' }] }
  return op === 'task.fail' || op === 'task.release' ? { ...body, reason: key } : body
}
