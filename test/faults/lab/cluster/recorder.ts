/** The log of one SDK client: each request that the history checker knows, as an operation. */
import type { Message } from '../../../../sdk/index.ts'
import { machineMs } from '../client-log.ts'
import type { Operation } from '../history.ts'
import { type TaskOp, taskOps } from '../task-effects.ts'
import { RequestLog } from './request-log.ts'

type Fetch = RequestLog['fetch']
type Known = Pick<Operation, 'op'> & Partial<Operation>

export class Recorder {
  readonly operations: Operation[] = []
  readonly requests: RequestLog
  readonly #client: string

  /** `name` is for people, `client` the id of the agent. */
  constructor(client: string, name: string, credential: string) {
    this.#client = client
    this.requests = new RequestLog(name, credential)
  }

  readonly fetch: Fetch = async (url, init) => {
    const known = knownOf(url, init)
    if (known === undefined) return this.requests.fetch(url, init)
    const { operations } = this
    const index = operations.length
    const call = { ...blank, ...known, client: this.#client, session: header(init, 'x-bridge-session') }
    operations.push({ ...call, ...unanswered, invoked: machineMs() })
    const settle = (result: Partial<Operation>) => {
      operations[index] = { ...(operations[index] as Operation), ...result, returned: machineMs() }
    }
    try {
      const response = await this.requests.fetch(url, init)
      const text = await response.text()
      settle(resultOf(response.status, text))
      return { status: response.status, headers: response.headers, text: async () => text }
    } catch (error) {
      settle({ answer: String(error) })
      throw error
    }
  }

  /**
   * Records a message that a stream or a wait brought. The time at which the node chose it is unknown, so it
   * counts as the earliest.
   */
  heard({ id, sequence }: Pick<Message, 'id' | 'sequence'>): void {
    const answer = JSON.stringify({ messages: [{ id, sequence }] })
    const offer = { ...blank, op: 'inbox', client: this.#client, session: null, outcome: 'ok' } as const
    this.operations.push({ ...offer, code: null, answer, invoked: 0, returned: machineMs() })
  }

  /** The number of reads of the inbox whose answer has not arrived. */
  get lostReads(): number {
    return this.operations.filter(({ op, outcome }) => op === 'inbox' && outcome === 'info').length
  }

  close(): Promise<void> {
    return this.requests.close()
  }
}

const blank = { key: null, conversation: null, text: null, messageIds: [], after: 0 } as const
const unanswered = { outcome: 'info', code: null, answer: '', returned: Number.POSITIVE_INFINITY } as const

/** The list shows the same messages as the offers. */
const inboxes = new Set(['/api/v1/inbox', '/api/v1/inbox/messages'])

type Init = Parameters<Fetch>[1]

const header = ({ headers }: Init, name: string): string | null =>
  Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1] ?? null

/** The operation that a request asks for, or undefined if no rule is about it. */
function knownOf(url: string, init: Init): Known | undefined {
  const { pathname } = new URL(url)
  const key = header(init, 'idempotency-key')
  const isPost = init.method === 'POST'
  if (!isPost) return inboxes.has(pathname) ? { op: 'inbox' } : undefined
  const body = init.body === undefined ? {} : JSON.parse(Buffer.from(init.body).toString())
  if (pathname === '/api/v1/messages')
    return { op: 'send', key, conversation: body.conversation_id, text: body.body }
  if (pathname === '/api/v1/acknowledgements') return { op: 'ack', messageIds: body.message_ids }
  if (pathname === '/api/v1/sessions') return { op: 'start' }
  if (pathname === '/api/v1/sessions/current/close') return { op: 'close' }
  if (pathname === '/api/v1/tasks') return { op: 'task.create', key, text: key }
  const [, task, verb] = /^\/api\/v1\/tasks\/([^/]+)\/([a-z]+)$/.exec(pathname) ?? []
  const op = `task.${verb}` as TaskOp
  if (task === undefined || !taskOps.includes(op)) return undefined
  const generation: number | undefined = body.claim_generation
  return { op, key, task, ...(generation !== undefined && { generation }) }
}

function resultOf(status: number, answer: string): Pick<Operation, 'outcome' | 'code' | 'answer'> {
  if (status === 200) return { outcome: 'ok', code: null, answer }
  const code = answer.startsWith('{') ? (JSON.parse(answer) as { error: string }).error : `proxy_${status}`
  // A refusal for its time says nothing about the request, which is signed again.
  return { outcome: status >= 500 || code === 'clock_skew' ? 'info' : 'fail', code, answer }
}
