/**
 * Callers without permission: the answers of every endpoint to them.
 *
 * Contract §2, §3, §5, §10, reliability T2 to T8.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointSpec, Scope } from '../../../sdk/contract/endpoint.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import type { TestAgent } from '../../support/agent.ts'
import { ownerPassword, TestOwner } from '../../support/owner.ts'
import { expectRefusal } from '../endpoints/answers.ts'
import { send } from '../endpoints/send.ts'
import { type Attempt, Attempts, answering } from './attempts.ts'
import { type Standing, withoutSession, withoutStanding } from './standing.ts'

let attempts: Attempts
let standing: Standing[]
let sessionless: Standing[]
let scoped: Record<Scope, TestAgent>

beforeAll(async () => {
  attempts = await Attempts.start()
  standing = await withoutStanding(attempts.world)
  sessionless = await withoutSession(attempts.world)
  const project = await attempts.world.project()
  const scopes: Scope[] = ['messages', 'messages:read', 'tasks', 'tasks:read', 'transfers', 'transfers:read']
  const agents = await Promise.all(
    scopes.map(async (scope) => [scope, await attempts.world.agent(project, { scopes: [scope] })] as const),
  )
  scoped = Object.fromEntries(agents) as Record<Scope, TestAgent>
})
afterAll(() => attempts.close())

const asksForAgent = ({ caller }: EndpointSpec) => caller === 'agent' || caller === 'agent-without-session'

describe.each(answering.filter(asksForAgent).map((entry) => ({ id: entry.id, entry })))(
  '$id',
  ({ entry }) => {
    const by = ({ code, by }: Standing): Attempt => ({
      what: `by an agent with ${code}`,
      ready: { ...attempts.ready(entry), by },
      code,
    })

    const all = () => (entry.caller === 'agent' ? [...standing, ...sessionless] : standing).map(by)

    test('refuses an agent without a valid credential or session', async () => {
      await attempts.expectRefused(entry, all())
    })

    test('refuses such an agent for any body', async () => {
      const broken = all().map(
        (each): Attempt => ({
          ...each,
          ready: { ...each.ready, ...(entry.body ? { body: '{' } : { query: '?surplus=1' }) },
        }),
      )
      await attempts.expectRefused(entry, broken)
    })

    test('accepts a proof dated up to five minutes back and half a minute ahead', async () => {
      const now = Math.floor(attempts.world.bridge.clock().getTime() / 1000)
      const times = [now - limits.proofBackSeconds - 5, now + limits.proofAheadSeconds + 60]
      for (const time of times) {
        const reply = await send(entry, { ...attempts.ready(entry), time })
        const { server_time } = expectRefusal(reply, 'clock_skew').details ?? {}
        expect(Math.abs(Date.parse(String(server_time)) / 1000 - now)).toBeLessThan(30)
      }
    })

    test('accepts a nonce once', async () => {
      const nonce = crypto.randomUUID().replaceAll('-', '')
      const { by: agent } = attempts.ready(entry)
      await (agent as TestAgent).ok({ target: '/api/v1/bootstrap', session: null, nonce })
      const ready = { ...attempts.ready(entry), nonce }
      await attempts.expectRefused(entry, [{ what: 'again', ready, code: 'request_replayed' }])
    })

    test('requires the scope that it declares, or none', async () => {
      const reads = entry.method === 'GET' || entry.reads === true
      const permitted = (scope: Scope) =>
        entry.scope === undefined ||
        entry.scope.some((noun) => scope === noun || (reads && scope === `${noun}:read`))
      const all = Object.keys(scoped) as Scope[]
      const refused = all.filter((scope) => !permitted(scope))
      await attempts.expectRefused(
        entry,
        refused.map((scope) => ({
          what: scope,
          ready: { ...attempts.ready(entry), by: scoped[scope] },
          code: 'scope_missing',
        })),
      )
      const scopes = all.filter(permitted)
      expect(scopes).not.toEqual([])
      for (const scope of scopes) {
        const reply = await send(entry, { ...attempts.ready(entry), by: scoped[scope] })
        const answered = reply.status === 200 ? 'done' : (reply.json as { error: string }).error
        expect(['done', ...entry.errors], `${scope} ${reply.text}`).toContain(answered)
        if (entry.id === 'sessions.close') await scoped[scope].startSession()
      }
    })
  },
)

const owners = answering.filter(({ caller }) => caller === 'owner')

describe('an owner', () => {
  test('must confirm dangerous actions ten minutes after signing in, and no others', async () => {
    const { owner: by, bridge } = await attempts.elsewhere()
    bridge.clock.advance(limits.ownerFreshSeconds)
    const leaves = ['owner.signIn.close', 'owner.signIn.confirm']
    for (const entry of owners.filter(({ id }) => !leaves.includes(id))) {
      const reply = await send(entry, { ...attempts.ready(entry), by })
      if (entry.fresh) expectRefusal(reply, 'reauth_required')
      else expect([200, 404], `${entry.id} ${reply.text}`).toContain(reply.status)
    }
    await by.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
    // Changing the password ends the session, so it runs last.
    const dangerous = owners.filter(({ fresh }) => fresh)
    const last = ({ id }: EndpointSpec) => Number(id === 'owner.signIn.password')
    for (const entry of dangerous.toSorted((one, other) => last(one) - last(other))) {
      const reply = await send(entry, { ...attempts.ready(entry), by })
      expect([200, 404], `${entry.id} ${reply.text}`).toContain(reply.status)
    }
  })

  test('is signed out after an hour without a request', async () => {
    const other = await attempts.elsewhere()
    other.bridge.clock.advance(limits.ownerIdleSeconds)
    for (const entry of owners) {
      const reply = await send(entry, { ...attempts.ready(entry), by: other.owner })
      expectRefusal(reply, 'owner_session_expired', entry.id)
    }
  })

  test('is signed out everywhere by signing out', async () => {
    const by = await attempts.world.signedIn()
    await by.ok({ target: '/api/admin/session/close', body: {} })
    for (const entry of owners) {
      await attempts.expectRefused(entry, [
        { what: 'signed out', ready: { ...attempts.ready(entry), by }, code: 'owner_session_expired' },
      ])
    }
  })

  test('is not accepted as an agent, and an agent is not accepted as an owner', async () => {
    const { owner, bridge } = attempts.world
    for (const entry of answering) {
      const ready = attempts.ready(entry)
      if (asksForAgent(entry)) {
        const by = new TestOwner(bridge.url, owner.cookie)
        await attempts.expectRefused(entry, [
          { what: 'by an owner', ready: { ...ready, by }, code: 'unauthenticated' },
        ])
      }
      if (entry.caller === 'owner') {
        const origin = { extra: [['Origin', bridge.url] as const] }
        const attempt = { ...ready, by: bridge.ada, ...origin }
        await attempts.expectRefused(entry, [
          { what: 'by an agent', ready: attempt, code: 'owner_session_expired' },
        ])
      }
    }
  })
})

describe('too many requests', () => {
  test('are refused at every endpoint that an agent may call', async () => {
    const other = await attempts.elsewhere({ settings: { rate_per_second: '1', rate_burst: '1' } })
    for (const entry of answering.filter(asksForAgent)) {
      const ready = { ...attempts.ready(entry), by: other.bridge.ada }
      const replies = await Promise.all(Array.from({ length: 6 }, () => send(entry, ready)))
      const refused = replies.filter(({ status }) => status === 429)
      expect(refused.length, entry.id).toBeGreaterThan(0)
      for (const reply of refused) expectRefusal(reply, 'rate_limited', entry.id)
    }
  })

  test('with an invalid identity are refused by address, and a valid one is still accepted', async () => {
    const other = await attempts.elsewhere({ settings: { failed_auth_per_minute: '3' } })
    const { ada } = other.bridge
    const wrong = {
      method: 'GET',
      target: '/api/v1/bootstrap',
      override: { 'X-Bridge-Proof': 'A'.repeat(86) },
    }
    const codes = []
    for (let attempt = 0; attempt < 5; attempt += 1) codes.push((await ada.call(wrong)).status)
    expect(codes).toEqual([401, 401, 401, 429, 429])
    await ada.ok({ target: '/api/v1/bootstrap', session: null })
  })
})

test('an invalid manifest is refused only if its sender is admitted', async () => {
  const entry = answering.find(({ id }) => id === 'transfers.create') as EndpointSpec
  const ready = attempts.ready(entry)
  const body = { ...(ready.body as object), size: 1 }
  await attempts.expectRefused(entry, [
    { what: 'by an admitted agent', ready: { ...ready, body }, code: 'manifest_invalid' },
    ...[...standing, ...sessionless].map(
      ({ code, by }): Attempt => ({
        what: `by an agent with ${code}`,
        ready: { ...ready, body, by },
        code,
      }),
    ),
  ])
})
