/** Everything with a lifetime: how a test starts it and checks whether it is still running. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import { generateKeyPair } from '../../../sdk/signing/keys.ts'
import { idempotencyRetention } from '../../../server/maintenance/expired.ts'
import { claimBody, enroll, legacyAgent, type TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { act, fileOf, look, offer } from '../../support/files.ts'
import { exchange, type Reply } from '../../support/http.ts'
import { cookieOf, ownerName, ownerPassword, TestOwner } from '../../support/owner.ts'
import { soon } from '../../support/waits.ts'
import { openUpkeep } from '../maintenance/upkeep.ts'

/** Returns whether it is still running. Call it once: the check may use it up. */
export type GoesOn = () => Promise<boolean>

export interface Lifetime {
  readonly seconds: number
  begin(): Promise<GoesOn>
  /** The interval of requests that keep it alive until the check. */
  readonly askedEverySeconds?: number
}

const codeOf = ({ json }: Reply): string | undefined => (json as { error?: string }).error
const isDone = ({ status }: Reply): boolean => status === 200

/** The lifetimes on one node. They call `bridge` each time, because a restart creates a new one. */
export function lifetimesOf(bridge: () => TestBridge): Readonly<Record<string, Lifetime>> {
  let count = 0
  const name = (of: string) => {
    count += 1
    return `${of} ${count}`
  }
  const post = (target: string, body: object) => {
    const { url } = bridge()
    const headers = [['Origin', url] as const, ['Content-Type', 'application/json'] as const]
    return exchange(url, { method: 'POST', target, headers, body: JSON.stringify(body) })
  }
  const newSignIn = async () => {
    const reply = await post('/api/admin/session', { name: ownerName, password: ownerPassword })
    return new TestOwner(bridge().url, cookieOf(reply))
  }
  let last: TestOwner | undefined
  /**
   * Starts a sign-in that stays valid for any time. It closes the last one, because a person may have ten.
   */
  const signIn = async () => {
    await last?.call({ target: '/api/admin/session/close', body: {} })
    last = await newSignIn()
    return last
  }
  const follow = (token: string) => post('/api/admin/session', { link_token: token })
  const person = async (fields: object = {}) => {
    const owner = await signIn()
    const { id } = await owner.createAgent(bridge().project.id, name('agent'))
    const issue = () => owner.enrollmentCode(bridge().project.id, id, fields)
    return { owner, id, issue }
  }
  const enrolled = async (fields: object = {}, device?: string): Promise<TestAgent> =>
    enroll(bridge().url, await (await person(fields)).issue(), bridge().clock, device)
  const agent = async () => {
    const made = await enrolled()
    await made.startSession()
    return made
  }
  const pair = async (policy: object = {}) => {
    const owner = await signIn()
    const project = await owner.createProject(name('project'), { policy })
    const one = async () => {
      const { id } = await owner.createAgent(project.id, name('agent'))
      const made = await enroll(bridge().url, await owner.enrollmentCode(project.id, id), bridge().clock)
      await made.startSession()
      return made
    }
    const [ada, ben] = [await one(), await one()]
    return { owner, project, ada, ben, conversation: await ada.conversationWith(ben.id) }
  }
  /** Each session of a legacy credential replaces the last one. */
  const legacy = async () => {
    const { id, owner } = await person()
    const { credential, secret } = await owner.issueLegacy(bridge().project.id, id)
    const { serverId: server_id } = bridge().server
    const known = { server_id, agent: { id, name: 'legacy' }, project: bridge().project }
    return legacyAgent(bridge().url, { ...known, credential_id: credential.id }, secret, bridge().clock)
  }
  /** Sends one more message into a conversation whose budget is one message. */
  const spentBudget = async () => {
    const { ada, ben, project, conversation } = await pair({ message_budget: 1 })
    const fields = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: 'on' }
    const say = () => ada.call({ target: '/api/v1/messages', body: fields })
    expect(isDone(await say())).toBe(true)
    return Object.assign(say, { project: project.id, conversation })
  }
  /** Checks that the audit log still has one record after `act` is repeated. */
  const staysOne =
    (project: string, kind: string, subject: string, act: () => Promise<unknown>): GoesOn =>
    async () => {
      await act()
      const target = `/api/admin/projects/${project}/audit?kind=${kind}&subject_id=${subject}`
      return (await (await signIn()).ok<{ audit: object[] }>({ target })).audit.length === 1
    }
  const connection = async (of: TestAgent) => {
    const target = `/api/admin/projects/${bridge().project.id}/agents/${of.id}`
    const owner = await signIn()
    return (
      await owner.ok<{ connection: { connected: boolean; next_contact: { overdue: boolean } } }>({ target })
    ).connection
  }
  /** Whether the session is alive, so that another instance cannot replace it. */
  const staying = async (schedule?: object): Promise<GoesOn> => {
    const one = await agent()
    if (schedule) await one.ok({ target: '/api/v1/connection-mode', body: schedule, key: null })
    return async () => codeOf(await one.requestSession(randomUUID())) === 'session_active'
  }

  return {
    'a challenge': {
      seconds: limits.challengeSeconds,
      async begin() {
        const device = JSON.stringify({ os: 'Linux', machine: 'a'.repeat(64), install: randomUUID() })
        const one = await enrolled({ binding: 'device' }, device)
        const challenge = await one.challenge()
        return async () => isDone(await one.requestSession(undefined, { challenge }))
      },
    },
    'a takeover grant': {
      seconds: 60,
      async begin() {
        const one = await agent()
        const { grant } = await (await signIn()).takeover(bridge().project.id, one.id, { ttl_seconds: 60 })
        return async () => isDone(await one.requestSession(undefined, { takeover_grant: grant }))
      },
    },
    'the wait for the grant': {
      seconds: 60,
      async begin() {
        const one = await agent()
        await (await signIn()).takeover(bridge().project.id, one.id, { ttl_seconds: 60 })
        return async () => codeOf(await one.requestSession()) === 'takeover_pending'
      },
    },
    'an enrolment code': {
      seconds: 60,
      async begin() {
        const code = await (await person({ ttl_seconds: 60 })).issue()
        return async () => isDone(await post('/api/v1/enrollments/claim', claimBody(code, generateKeyPair())))
      },
    },
    'an enrolment, as it is listed': {
      seconds: 60,
      async begin() {
        const { id, issue } = await person({ ttl_seconds: 60 })
        await issue()
        return async () => {
          const target = `/api/admin/projects/${bridge().project.id}/enrollments?state=pending&agent_id=${id}`
          const owner = await signIn()
          return (await owner.ok<{ enrollments: object[] }>({ target })).enrollments.length === 1
        }
      },
    },
    "a link for an administrator's sign-in": {
      seconds: 60,
      async begin() {
        const body = { name: name('administrator'), ttl_seconds: 60 }
        const { link } = await (await signIn()).ok<{ link: string }>({
          target: '/api/admin/administrators',
          body,
        })
        return async () => isDone(await follow(new URL(link).hash.slice(1)))
      },
    },
    'a sign-in that is not used': {
      seconds: limits.ownerIdleSeconds,
      async begin() {
        const owner = await newSignIn()
        return async () => isDone(await owner.call({ target: '/api/admin/session' }))
      },
    },
    'a sign-in that is used': {
      seconds: limits.ownerSessionSeconds,
      askedEverySeconds: 1500,
      async begin() {
        const owner = await newSignIn()
        return async () => isDone(await owner.call({ target: '/api/admin/session' }))
      },
    },
    'a confirmation': {
      seconds: limits.ownerFreshSeconds,
      async begin() {
        const owner = await newSignIn()
        await owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
        return async () => {
          const body = { name: name('administrator') }
          return isDone(await owner.call({ target: '/api/admin/administrators', body }))
        }
      },
    },
    'a session': { seconds: limits.sessionAliveSeconds, begin: () => staying() },
    'a session with a schedule': {
      seconds: 2 * 60 + limits.sessionAliveScheduleMargin,
      begin: () => staying({ mode: 'short_poll', interval_seconds: 60 }),
    },
    'a session in checkpoint mode': {
      seconds: limits.sessionAliveCheckpointSeconds,
      begin: () => staying({ mode: 'checkpoint' }),
    },
    'the count of replacements': {
      seconds: limits.sessionReplacementWindowSeconds,
      async begin() {
        const one = await legacy()
        for (let starts = 0; starts < 4; starts += 1) await one.startSession()
        return async () => codeOf(await one.requestSession()) === 'rate_limited'
      },
    },
    'the record of a refused replacement': {
      seconds: limits.sessionReplacementWindowSeconds,
      async begin() {
        const one = await legacy()
        const refused = async () => {
          while (isDone(await one.requestSession()));
        }
        await refused()
        return staysOne(bridge().project.id, 'session.replacement_refused', one.id, refused)
      },
    },
    'the budget of a conversation': {
      seconds: limits.messageBudgetWindowSeconds,
      async begin() {
        const say = await spentBudget()
        return async () => codeOf(await say()) === 'conversation_budget'
      },
    },
    'the record of a tripped guard': {
      seconds: limits.messageBudgetWindowSeconds,
      async begin() {
        const say = await spentBudget()
        const tripped = async () => {
          while (isDone(await say()));
        }
        await tripped()
        return staysOne(say.project, 'conversation.guard_tripped', say.conversation, tripped)
      },
    },
    'the record of a reused code': {
      seconds: 3600,
      async begin() {
        const { id, issue } = await person()
        const code = await issue()
        const claim = () => post('/api/v1/enrollments/claim', claimBody(code, generateKeyPair()))
        expect(isDone(await claim())).toBe(true)
        const target = `/api/admin/projects/${bridge().project.id}/enrollments?agent_id=${id}`
        const owner = await signIn()
        const [enrollment] = (await owner.ok<{ enrollments: { id: string }[] }>({ target })).enrollments
        const reuse = async () => expect(codeOf(await claim())).toBe('enrollment_used')
        await reuse()
        return staysOne(bridge().project.id, 'enrollment.reused', enrollment?.id ?? '', reuse)
      },
    },
    'a stored answer': {
      seconds: limits.idempotencyDays * 86_400,
      async begin() {
        const { ada, ben, conversation } = await pair()
        const body = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: 'once' }
        const key = randomUUID()
        const send = () => ada.call({ target: '/api/v1/messages', body, key })
        expect(isDone(await send())).toBe(true)
        return async () => {
          const { data, clock } = bridge()
          // With a commit the server stores its steady time, from which the maintenance run starts.
          await ada.send(conversation, ben.id, 'another')
          const upkeep = await openUpkeep(data, { clock, monotonicMs: clock.elapsedMs }, [
            idempotencyRetention,
          ])
          // A run after more than a day removes nothing.
          for (let runs = 0; runs < 2; runs += 1) await upkeep.cycle()
          await upkeep.close()
          return (await send()).headers['idempotency-replayed'] === 'true'
        }
      },
    },
    contact: {
      seconds: limits.connectedSeconds,
      async begin() {
        const one = await agent()
        return async () => (await connection(one)).connected
      },
    },
    'a schedule that is kept': {
      seconds: 60 + limits.overdueSeconds,
      async begin() {
        const one = await agent()
        const body = { mode: 'short_poll', interval_seconds: 60 }
        await one.ok({ target: '/api/v1/connection-mode', body, key: null })
        return async () => !(await connection(one)).next_contact.overdue
      },
    },
    'the wait before a redelivery': {
      seconds: limits.redeliverySeconds,
      async begin() {
        const { ada, ben, conversation } = await pair()
        const { id } = await ada.send(conversation, ben.id, 'hello')
        await ben.inbox()
        // The node records the offer after its answer.
        const sent = () => ada.ok<{ delivery: { offers: number } }>({ target: `/api/v1/messages/${id}` })
        await expect.poll(async () => (await sent()).delivery.offers, soon).toBe(1)
        return async () => (await ben.inbox()).messages.length === 0
      },
    },
    'a claim': {
      seconds: 30,
      async begin() {
        const { ada, ben } = await pair()
        const body = {
          assignee_agent_id: ben.id,
          title: 'a task',
          instructions: 'do it',
          claim_ttl_seconds: 30,
        }
        const { id } = await ada.ok<{ id: string }>({ target: '/api/v1/tasks', body })
        const target = `/api/v1/tasks/${id}`
        const { claim } = await ben.ok<{ claim: { generation: number; session_generation: number } }>({
          target: `${target}/claim`,
          body: {},
        })
        const held = { claim_generation: claim.generation, session_generation: claim.session_generation }
        return async () =>
          isDone(await ben.call({ target: `${target}/progress`, body: { ...held, percent: 1 } }))
      },
    },
    'an offer': {
      seconds: 60,
      async begin() {
        const { ada, ben } = await pair()
        const { id } = await offer({ from: ada, to: ben, bytes: fileOf(10), fields: { ttl_seconds: 60 } })
        return async () => (await look(ben, id)).state === 'offered'
      },
    },
    'an endpoint': {
      seconds: 60,
      async begin() {
        const { ada, ben } = await pair()
        const { id } = await offer({ from: ada, to: ben, bytes: fileOf(10), fields: { mode: 'direct' } })
        await act(ben, id, 'accept')
        await act(ada, id, 'secret', {
          endpoint: 'https://tunnel.example',
          token: 'T'.repeat(43),
          helper_mode: 'download',
          expires_at: new Date(bridge().clock().getTime() + 60_000).toISOString(),
        })
        return async () => isDone(await ben.call({ target: `/api/v1/transfers/${id}/secret` }))
      },
    },
  }
}
