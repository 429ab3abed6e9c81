/**
 * A right is removed while it is in use. Requests that begin after the owner was answered fail. A request in
 * flight either completes as before or stores nothing.
 *
 * Reliability T6, T8, T25, F25. BRIDGE_FENCINGS sets the number of rounds of each test, one by default.
 */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ErrorCode } from '../../sdk/contract/errors.ts'
import { startWorld, type World } from '../server/endpoints/world.ts'
import { enroll, type TestAgent } from '../support/agent.ts'
import type { Reply } from '../support/http.ts'
import { ownerPassword, type TestOwner } from '../support/owner.ts'
import { stored } from '../support/stored.ts'

const rounds = Number(process.env.BRIDGE_FENCINGS ?? 1)
const atOnce = 4
const timeout = 300_000 + rounds * 2000

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

interface Scene {
  readonly project: { readonly id: string; readonly name: string }
  readonly lost: TestAgent
  readonly peer: TestAgent
  readonly conversation: string
  readonly kim: { readonly id: string; readonly by: TestOwner }
}

async function scene(): Promise<Scene> {
  // All rounds together take longer than a sign-in stays confirmed.
  await owner().ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
  const project = await world.owner.createProject(world.name('project'), {
    policy: { message_budget: 100_000 },
  })
  const [lost, peer, kim] = [
    await world.agent(project.id),
    await world.agent(project.id),
    await world.administrator(),
  ]
  await world.assign(kim.id, project.id, true)
  return { project, lost, peer, kim, conversation: await lost.conversationWith(peer.id) }
}

interface Act {
  readonly what: string
  readonly code: ErrorCode
  readonly happens: (scene: Scene) => Promise<unknown>
}

const owner = () => world.owner

/** The tables that a request may change; the server changes its own time records at any time. */
function effects() {
  const { messages, conversations, idempotency, audit } = stored(world.bridge.data)
  return { messages, conversations, idempotency, audit }
}

const agentActs: readonly Act[] = [
  {
    what: 'its credential is revoked',
    code: 'credential_revoked',
    happens: ({ project, lost }) => owner().revoke(project.id, lost.enrolled.credential_id),
  },
  {
    what: 'it is disabled',
    code: 'agent_disabled',
    happens: ({ project, lost }) => owner().setAgent(project.id, lost.id, 'disabled'),
  },
  {
    what: 'its session is taken over',
    code: 'session_fenced',
    happens: ({ project, lost }) => owner().takeover(project.id, lost.id),
  },
  {
    what: 'its legacy credential replaces the other one',
    code: 'credential_revoked',
    happens: ({ project, lost }) =>
      owner().issueLegacy(project.id, lost.id, { replaces: lost.enrolled.credential_id }),
  },
  {
    what: 'it is enrolled again',
    code: 'credential_revoked',
    happens: async ({ project, lost }) =>
      enroll(world.bridge.url, await owner().enrollmentCode(project.id, lost.id), world.bridge.clock),
  },
  {
    what: 'the pair is disabled',
    code: 'pairing_disabled',
    happens: ({ project, lost, peer }) => owner().setPairing(project.id, [lost.id, peer.id], false),
  },
  {
    what: 'the project is paused',
    code: 'project_paused',
    happens: ({ project }) => owner().setProject(project.id, 'paused'),
  },
  {
    what: 'the project is archived',
    code: 'project_archived',
    happens: ({ project }) => owner().setProject(project.id, 'archived'),
  },
  {
    what: 'the project is deleted',
    code: 'credential_unknown',
    happens: ({ project }) => owner().deleteProject(project.id, project.name),
  },
]

const administratorActs: readonly Act[] = [
  {
    what: 'the project is taken from it',
    code: 'not_found',
    happens: ({ kim, project }) => world.assign(kim.id, project.id, false),
  },
  {
    what: 'it is disabled',
    code: 'owner_session_expired',
    happens: ({ kim }) =>
      owner().ok({ target: `/api/admin/administrators/${kim.id}/state`, body: { state: 'disabled' } }),
  },
  {
    what: 'it signs out',
    code: 'owner_session_expired',
    happens: ({ kim }) => kim.by.ok({ target: '/api/admin/session/close', body: {} }),
  },
  {
    what: 'the project is deleted',
    code: 'not_found',
    happens: ({ project }) => owner().deleteProject(project.id, project.name),
  },
]

const fromAgent = ({ peer, conversation }: Scene) => {
  const body = { conversation_id: conversation, recipient_agent_id: peer.id, type: 'note', body: 'on we go' }
  return { target: '/api/v1/messages', body }
}
const fromAdministrator = ({ project, peer }: Scene) => {
  const body = { recipient_agent_id: peer.id, body: 'on we go' }
  return { target: `/api/admin/projects/${project.id}/messages`, body }
}

interface Asked {
  readonly startedMs: number
  readonly reply: Reply
}

/** Sends requests without pause, several in parallel, until each of them was refused. */
function traffic(ask: () => Promise<Reply>) {
  const asked: Asked[] = []
  const one = async () => {
    for (;;) {
      const startedMs = performance.now()
      const reply = await ask()
      asked.push({ startedMs, reply })
      if (reply.status !== 200) return
    }
  }
  return { asked, done: Promise.all(Array.from({ length: atOnce }, one)) }
}

async function expectFenced(act: Act, its: Scene, ask: () => Promise<Reply>): Promise<void> {
  const { asked, done } = traffic(ask)
  while (asked.length < 2 * atOnce) await new Promise((resolve) => setImmediate(resolve))
  await act.happens(its)
  const answeredMs = performance.now()
  await done
  const late = await ask()
  const after = asked.filter(({ startedMs }) => startedMs > answeredMs)
  expect(after.filter(({ reply }) => reply.status === 200)).toEqual([])
  const refused = [late, ...asked.map(({ reply }) => reply)].filter(({ status }) => status !== 200)
  expect(new Set(refused.map(({ json }) => (json as { error: string }).error))).toEqual(new Set([act.code]))
  expect(refused).toHaveLength(atOnce + 1)
}

/** Sends a request whose head the server has accepted, and whose body arrives after an event. */
async function slowly(
  url: string,
  target: string,
  headers: readonly (readonly [string, string])[],
  body: string,
  meanwhile: () => Promise<unknown>,
): Promise<{ status: number; error: string }> {
  const { hostname, port } = new URL(url)
  const call = request({
    host: hostname,
    port,
    path: target,
    method: 'POST',
    agent: false,
    headers: {
      ...Object.fromEntries(headers),
      expect: '100-continue',
      'content-length': Buffer.byteLength(body),
    },
  })
  call.flushHeaders()
  await once(call, 'continue')
  call.write(body.slice(0, 1))
  await meanwhile()
  call.end(body.slice(1))
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return {
    status: response.statusCode ?? 0,
    ...(JSON.parse(Buffer.concat(chunks).toString()) as { error: string }),
  }
}

describe('an agent that sends without pause', () => {
  test.each(agentActs)('has no success that began after $what', { timeout }, async (act) => {
    for (let round = 0; round < rounds; round += 1) {
      const its = await scene()
      await expectFenced(act, its, () => its.lost.call(fromAgent(its)))
    }
  })

  test.each(agentActs)('stores nothing of a request whose body arrived after $what', async (act) => {
    const its = await scene()
    const { target, body } = fromAgent(its)
    const text = JSON.stringify(body)
    const headers = its.lost.sign({ target, body: text }, text)
    let before: unknown
    const { error } = await slowly(world.bridge.url, target, headers, text, async () => {
      await act.happens(its)
      before = effects()
    })
    expect(error).toBe(act.code)
    expect(effects()).toEqual(before)
  })
})

describe('an administrator that writes without pause', () => {
  test.each(administratorActs)('has no success that began after $what', { timeout }, async (act) => {
    for (let round = 0; round < rounds; round += 1) {
      const its = await scene()
      const call = fromAdministrator(its)
      await expectFenced(act, its, () => its.kim.by.call({ ...call, key: crypto.randomUUID() }))
    }
  })

  test.each(administratorActs)('stores nothing of a request whose body arrived after $what', async (act) => {
    const its = await scene()
    const { target, body } = fromAdministrator(its)
    const headers = [
      ['Cookie', its.kim.by.cookie],
      ['Origin', world.bridge.url],
      ['Content-Type', 'application/json'],
      ['Idempotency-Key', crypto.randomUUID()],
    ] as const
    let before: unknown
    const { error } = await slowly(world.bridge.url, target, headers, JSON.stringify(body), async () => {
      await act.happens(its)
      before = effects()
    })
    expect(error).toBe(act.code)
    expect(effects()).toEqual(before)
  })

  test.each(administratorActs)('is notified on its open wait that $what', async (act) => {
    const its = await scene()
    const events = `/api/admin/projects/${its.project.id}/events`
    const { next_after } = await its.kim.by.ok<{ next_after: string }>({ target: `${events}?limit=100` })
    // The periodic recheck never comes, because the time of its timer stands still.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const waiting = its.kim.by.call({ target: `${events}?wait_seconds=20&after=${next_after}` })
    await act.happens(its)
    expect((await waiting).json).toMatchObject({ error: act.code })
  })

  test('gets no stored answer of a project that was taken from it', async () => {
    const its = await scene()
    const call = { ...fromAdministrator(its), key: crypto.randomUUID() }
    expect((await its.kim.by.call(call)).status).toBe(200)
    await world.assign(its.kim.id, its.project.id, false)
    expect((await its.kim.by.call(call)).json).toMatchObject({ error: 'not_found' })
  })
})
