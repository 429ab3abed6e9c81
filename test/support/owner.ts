/** The owner on the wire: a cookie and an Origin. */
import { randomUUID } from 'node:crypto'
import { exchange, type Reply } from './http.ts'

export interface OwnerCall {
  readonly method?: string
  readonly target: string
  readonly body?: unknown
  readonly key?: string
  readonly override?: Readonly<Record<string, string | null>>
  readonly extra?: readonly (readonly [string, string])[]
}

export class TestOwner {
  readonly baseUrl: string
  cookie: string

  constructor(baseUrl: string, cookie: string) {
    this.baseUrl = baseUrl
    this.cookie = cookie
  }

  async call(call: OwnerCall): Promise<Reply> {
    const method = call.method ?? (call.body === undefined ? 'GET' : 'POST')
    const body =
      call.body === undefined || typeof call.body === 'string' || Buffer.isBuffer(call.body)
        ? call.body
        : JSON.stringify(call.body)
    const headers: [string, string][] = [['Cookie', this.cookie]]
    if (method === 'POST') headers.push(['Origin', new URL(this.baseUrl).origin])
    if (body !== undefined) headers.push(['Content-Type', 'application/json'])
    if (call.key !== undefined) headers.push(['Idempotency-Key', call.key])
    const changed = Object.entries(call.override ?? {})
    const kept = headers.filter(
      ([name]) => !changed.some(([other]) => other.toLowerCase() === name.toLowerCase()),
    )
    const replaced = changed.flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, value]],
    )
    const reply = await exchange(this.baseUrl, {
      method,
      target: call.target,
      headers: [...kept, ...replaced, ...(call.extra ?? [])],
      body: body as string | Buffer | undefined,
    })
    // Stores cookies as a browser does, but also sends a cleared cookie, so that a test can see it refused.
    const given = cookieOf(reply)
    if (reply.status === 200 && !/^$|=$/.test(given)) this.cookie = given
    return reply
  }

  async ok<T>(call: OwnerCall): Promise<T> {
    const reply = await this.call(call)
    if (reply.status !== 200)
      throw new Error(`${call.method ?? ''} ${call.target} answered ${reply.status}: ${reply.text}`)
    return reply.json as T
  }

  createProject(name: string, fields: object = {}): Promise<{ id: string; name: string }> {
    return this.ok({ target: '/api/admin/projects', body: { name, ...fields } })
  }

  async createAgent(projectId: string, name: string, fields: object = {}): Promise<{ id: string }> {
    const body = { name, ...fields }
    const created = await this.ok<{ agent: { id: string } }>({
      target: `/api/admin/projects/${projectId}/agents`,
      body,
    })
    return created.agent
  }

  /** Returns a fresh single-use code for an agent, cut from its prompt as a person would copy it. */
  async enrollmentCode(projectId: string, agentId: string, fields: object = {}): Promise<string> {
    const issued = await this.ok<{ prompt: string }>({
      target: `/api/admin/projects/${projectId}/agents/${agentId}/enrollment`,
      body: fields,
    })
    return codeOf(issued.prompt)
  }

  /** Issues a legacy credential. Its secret is shown only in this answer. */
  issueLegacy(
    projectId: string,
    agentId: string,
    fields: object = {},
  ): Promise<{ credential: { id: string; scopes: string[]; expires_at: string | null }; secret: string }> {
    return this.ok({
      target: `/api/admin/projects/${projectId}/agents/${agentId}/credentials`,
      body: { kind: 'legacy', ...fields },
    })
  }

  revoke(projectId: string, credentialId: string): Promise<unknown> {
    return this.ok({
      target: `/api/admin/projects/${projectId}/credentials/${credentialId}/revoke`,
      body: {},
    })
  }

  takeover(
    projectId: string,
    agentId: string,
    fields: object = {},
  ): Promise<{ grant: string; expires_at: string; fenced_session_id: string | null; generation: number }> {
    return this.ok({ target: `/api/admin/projects/${projectId}/agents/${agentId}/takeover`, body: fields })
  }

  setAgent(projectId: string, agentId: string, state: 'enabled' | 'disabled'): Promise<unknown> {
    return this.ok({ target: `/api/admin/projects/${projectId}/agents/${agentId}/state`, body: { state } })
  }

  setProject(projectId: string, state: 'active' | 'paused' | 'archived'): Promise<unknown> {
    return this.ok({ target: `/api/admin/projects/${projectId}/state`, body: { state } })
  }

  deleteProject(projectId: string, name: string): Promise<unknown> {
    return this.ok({ target: `/api/admin/projects/${projectId}/delete`, body: { confirm_name: name } })
  }

  setPairing(projectId: string, agentIds: readonly [string, string], enabled: boolean): Promise<unknown> {
    const target = `/api/admin/projects/${projectId}/pairings`
    return this.ok({ target, body: { agent_ids: agentIds, enabled } })
  }

  async message(
    projectId: string,
    agentId: string,
    text: string,
  ): Promise<{ id: string; conversation_id: string }> {
    return this.ok({
      target: `/api/admin/projects/${projectId}/messages`,
      body: { recipient_agent_id: agentId, body: text },
      key: randomUUID(),
    })
  }
}

export function codeOf(prompt: string): string {
  const found = /<<'CODE'\n([A-Za-z0-9_-]+)\nCODE/.exec(prompt)?.[1]
  if (found === undefined) throw new Error('the prompt holds no code')
  return found
}

export const ownerName = 'olu'
export const ownerPassword = 'correct horse battery staple'

export async function setUpOwner(baseUrl: string, setupLink: string): Promise<TestOwner> {
  const token = new URL(setupLink).hash.slice(1)
  const reply = await exchange(baseUrl, {
    method: 'POST',
    target: '/api/admin/setup',
    headers: [
      ['Origin', new URL(baseUrl).origin],
      ['Content-Type', 'application/json'],
    ],
    body: JSON.stringify({ token, name: ownerName, password: ownerPassword }),
  })
  if (reply.status !== 200) throw new Error(`set-up answered ${reply.status}: ${reply.text}`)
  return new TestOwner(baseUrl, cookieOf(reply))
}

export function cookieOf(reply: Reply): string {
  return reply.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
}
