/**
 * The SDK method for each endpoint, called as a user would call it, with a node that only records.
 *
 * The types check the arguments, `Record<EndpointId, …>` checks the list, and the recorded requests are
 * compared with the contract.
 */
import { generateKeyPairSync } from 'node:crypto'
import { blankSession } from '../../sdk/agent/session.ts'
import type { EndpointId } from '../../sdk/contract/index.ts'
import { Bridge, enroll, Identity, nodeStatus, Owner, reportHost } from '../../sdk/index.ts'
import type { Fetch } from '../../sdk/transport/fetch.ts'

const baseUrl = 'http://127.0.0.1:1'
const id = '01890000-0000-7000-8000-000000000000'
const password = 'correct horse battery staple'
const page = { limit: 1 }
const hostSample = {
  ...{ host: 'desk', sampled_at: '2026-01-01T00:00:00.000Z', cpu_percent: 12.5 },
  ...{ memory_used_bytes: 1, memory_total_bytes: 2 },
}
const held = { id, claim: { generation: 1, session_generation: 1 } }
const recipient = 'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj'

export interface People {
  readonly bridge: Bridge
  readonly owner: Owner
  readonly fetch: Fetch
}

const moved = 'bridge.transfers.send() and receive() move the bytes: test/sdk/transfers.test.ts'

type Reach = ((people: People) => Promise<unknown>) | { readonly none: string }

export const sdkMethods: Record<EndpointId, Reach> = {
  'health.get': ({ fetch }) => nodeStatus({ baseUrl, fetch }),
  'health.ready': ({ fetch }) => nodeStatus({ baseUrl, fetch }),
  'health.openapi': {
    none: 'for programs that are made from the description; the SDK is made from the contract',
  },

  'client.get': { none: 'for programs that do not have the SDK yet' },
  'client.download': { none: 'for programs that do not have the SDK yet' },

  'enrollments.claim': ({ fetch }) => {
    const { privateKey } = generateKeyPairSync('ed25519')
    return enroll({ baseUrl, fetch, privateKey, code: 'A'.repeat(24) })
  },
  'bootstrap.get': ({ bridge }) => bridge.bootstrap.get(),
  'guides.messaging': ({ bridge }) => bridge.guides.get('messaging'),
  'guides.tasks': ({ bridge }) => bridge.guides.get('tasks'),
  'guides.transfers': ({ bridge }) => bridge.guides.get('transfers'),
  'guides.packages': ({ bridge }) => bridge.guides.get('packages'),
  'sessions.challenge': ({ bridge }) => bridge.sessions.challenge(),
  'sessions.start': ({ bridge }) => bridge.sessions.start(),
  'sessions.close': ({ bridge }) => bridge.sessions.close(),
  'connectionMode.report': ({ bridge }) => bridge.schedule({ mode: 'checkpoint' }),
  'recipientKeys.register': ({ bridge }) => bridge.recipientKeys.register(recipient),
  'recipientKeys.ofConversation': ({ bridge }) => bridge.recipientKeys.ofConversation(id),
  'peers.list': ({ bridge }) => bridge.peers.list(page),
  'conversations.open': ({ bridge }) => bridge.conversations.open(id),
  'conversations.list': ({ bridge }) => bridge.conversations.list(page),
  'conversations.get': ({ bridge }) => bridge.conversations.get(id),
  'conversations.history': ({ bridge }) => bridge.conversations.history(id, { afterSequence: 1 }),
  'messages.send': ({ bridge }) =>
    bridge.messages.send({ conversation_id: id, recipient_agent_id: id, type: 'note', body: 'hello' }),
  'messages.get': ({ bridge }) => bridge.messages.get(id),
  'inbox.read': ({ bridge }) => bridge.inbox.read({ waitSeconds: 0 }),
  'inbox.list': ({ bridge }) => bridge.inbox.list(page),
  'acknowledgements.create': ({ bridge }) => bridge.acknowledgements.create([id]),
  'tasks.create': ({ bridge }) =>
    bridge.tasks.create({ assignee_agent_id: id, title: 'count', instructions: 'count the lines' }),
  'tasks.list': ({ bridge }) =>
    bridge.tasks.list({ ...page, state: 'open', role: 'assignee', waitSeconds: 1 }),
  'tasks.get': ({ bridge }) => bridge.tasks.get(id),
  'tasks.timeline': ({ bridge }) => bridge.tasks.timeline(id, page),
  'tasks.claim': ({ bridge }) => bridge.tasks.claim(id),
  'tasks.renew': ({ bridge }) => bridge.tasks.renew(held),
  'tasks.progress': ({ bridge }) => bridge.tasks.progress(held, { note: 'half', percent: 50 }),
  'tasks.complete': ({ bridge }) =>
    bridge.tasks.complete(held, { result: '42', evidence: [{ kind: 'text', value: 'wc -l' }] }),
  'tasks.fail': ({ bridge }) => bridge.tasks.fail(held, { reason: 'no such file' }),
  'tasks.release': ({ bridge }) => bridge.tasks.release(held, { reason: 'no time' }),
  'tasks.decline': ({ bridge }) => bridge.tasks.decline(id, { reason: 'not mine' }),
  'tasks.cancel': ({ bridge }) => bridge.tasks.cancel(id, { reason: 'not needed' }),
  'tasks.stopped': ({ bridge }) => bridge.tasks.stopped(held),
  'transfers.create': ({ bridge }) =>
    bridge.transfers.offer({
      conversation_id: id,
      recipient_agent_id: id,
      filename: 'report.pdf',
      size: 0,
      sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      parts: [],
      mode: 'direct',
      encryption: 'none',
    }),
  'transfers.list': ({ bridge }) => bridge.transfers.list(page),
  'transfers.get': ({ bridge }) => bridge.transfers.get(id),
  'transfers.accept': ({ bridge }) => bridge.transfers.accept(id),
  'transfers.decline': ({ bridge }) => bridge.transfers.decline(id),
  'transfers.cancel': ({ bridge }) => bridge.transfers.cancel(id),
  'transfers.fail': ({ bridge }) => bridge.transfers.fail(id),
  'transfers.receipt': ({ bridge }) => bridge.transfers.receipt(id, { size: 1, sha256: 'a'.repeat(64) }),
  'transfers.cleanup': ({ bridge }) => bridge.transfers.cleanup(id),
  'transfers.deposit': ({ bridge }) =>
    bridge.transfers.deposit(id, {
      endpoint: 'https://tunnel.example',
      token: 'A'.repeat(43),
      expires_at: '2030-01-01T00:00:00.000Z',
      helper_mode: 'download',
    }),
  'transfers.secret': ({ bridge }) => bridge.transfers.secret(id),
  'packages.status': { none: moved },
  'packages.putPart': { none: moved },
  'packages.getPart': { none: moved },
  'packages.finalize': { none: moved },
  'packages.file': { none: 'bridge.transfers.receive() takes parts, which it can take up again' },
  'owner.transfers.list': ({ owner }) => owner.transfers.list(id, page),
  'owner.transfers.get': ({ owner }) => owner.transfers.get(id, id),
  'owner.transfers.cancel': ({ owner }) => owner.transfers.cancel(id, id),
  'streams.events': { none: 'bridge.listen() opens it by itself: test/sdk/delivery' },
  'streams.socket': { none: 'bridge.listen() opens it by itself: test/sdk/delivery' },

  'owner.signIn.setup': ({ fetch }) =>
    Owner.setup({ baseUrl, fetch, token: 'A'.repeat(24), name: 'olu', password }),
  'owner.signIn.start': ({ fetch }) => Owner.signIn({ baseUrl, fetch, name: 'olu', password }),
  'owner.signIn.current': ({ owner }) => owner.signIn.current(),
  'owner.signIn.close': ({ owner }) => owner.signIn.close(),
  'owner.signIn.confirm': ({ owner }) => owner.signIn.confirm(password),
  'owner.signIn.password': ({ owner }) => owner.signIn.changePassword(password),
  'owner.signIn.list': ({ owner }) => owner.signIn.list(page),
  'owner.signIn.revoke': ({ owner }) => owner.signIn.revoke(id),
  'owner.administrators.list': ({ owner }) => owner.administrators.list(page),
  'owner.administrators.create': ({ owner }) => owner.administrators.create({ name: 'kim' }),
  'owner.administrators.link': ({ owner }) => owner.administrators.link(id),
  'owner.administrators.assign': ({ owner }) => owner.administrators.assign(id, id),
  'owner.administrators.setState': ({ owner }) => owner.administrators.setState(id, 'disabled'),
  'owner.projects.list': ({ owner }) => owner.projects.list(page),
  'owner.projects.create': ({ owner }) => owner.projects.create({ name: 'demo' }),
  'owner.projects.setState': ({ owner }) => owner.projects.setState(id, 'paused'),
  'owner.projects.change': ({ owner }) => owner.projects.change(id, { name: 'demo' }),
  'owner.projects.delete': ({ owner }) => owner.projects.delete(id, 'demo'),
  'owner.environments.create': ({ owner }) => owner.environments.create(id, { name: 'lab', kind: 'server' }),
  'owner.environments.change': ({ owner }) => owner.environments.change(id, id, { kind: 'ci' }),
  'owner.environments.list': ({ owner }) => owner.environments.list(id, page),
  'owner.agents.create': ({ owner }) => owner.agents.create(id, { name: 'ada' }),
  'owner.agents.list': ({ owner }) => owner.agents.list(id, page),
  'owner.agents.get': ({ owner }) => owner.agents.get(id, id),
  'owner.agents.setState': ({ owner }) => owner.agents.setState(id, id, 'disabled'),
  'owner.agents.change': ({ owner }) => owner.agents.change(id, id, { role_name: 'reader' }),
  'owner.agents.rename': ({ owner }) => owner.agents.rename(id, id, 'eve'),
  'owner.agents.instructions': ({ owner }) => owner.agents.instructions(id, id),
  'owner.agents.setInstructions': ({ owner }) => owner.agents.setInstructions(id, id, 'Read twice.'),
  'owner.environments.get': ({ owner }) => owner.environments.get(id, id),
  'owner.enrollments.list': ({ owner }) => owner.enrollments.list(id, { ...page, state: 'pending' }),
  'owner.enrollments.read': ({ owner }) => owner.enrollments.read(id, id),
  'owner.enrollments.revoke': ({ owner }) => owner.enrollments.revoke(id, id),
  'owner.credentials.get': ({ owner }) => owner.credentials.get(id, id),
  'owner.pairings.set': ({ owner }) => owner.pairings.set(id, [id, id], true),
  'owner.pairings.list': ({ owner }) => owner.pairings.list(id, page),
  'owner.enrollments.create': ({ owner }) => owner.enrollments.create(id, id, {}),
  'owner.enrollments.get': ({ owner }) => owner.enrollments.get(id, id, id),
  'owner.credentials.issue': ({ owner }) => owner.credentials.issue(id, id, { kind: 'legacy' }),
  'owner.takeovers.issue': ({ owner }) => owner.takeovers.issue(id, id, {}),
  'owner.recipientKeys.set': ({ owner }) => owner.recipientKeys.set(id, id, recipient),
  'owner.credentials.list': ({ owner }) => owner.credentials.list(id, page),
  'owner.credentials.revoke': ({ owner }) => owner.credentials.revoke(id, id),
  'owner.messages.send': ({ owner }) => owner.messages.send(id, { recipient_agent_id: id, body: 'hello' }),
  'owner.messages.acknowledge': ({ owner }) => owner.messages.acknowledge(id, [id]),
  'owner.inbox.list': ({ owner }) => owner.inbox.list(page),
  'owner.inbox.ofProject': ({ owner }) => owner.inbox.ofProject(id, page),
  'owner.conversations.list': ({ owner }) => owner.conversations.list(id, page),
  'owner.conversations.get': ({ owner }) => owner.conversations.get(id, id),
  'owner.conversations.history': ({ owner }) => owner.conversations.history(id, id),
  'telemetry.report': ({ fetch }) =>
    reportHost({ baseUrl, fetch, token: 'A'.repeat(43), sample: hostSample }),
  'owner.telemetry.list': ({ owner }) => owner.telemetry.list(),
  'owner.telemetry.history': ({ owner }) => owner.telemetry.history('desk'),
  'owner.snapshots.get': ({ owner }) => owner.projects.snapshot(id),
  'owner.audit.list': ({ owner }) => owner.audit.list(id, { ...page, kind: 'session.fenced' }),
  'owner.audit.get': ({ owner }) => owner.audit.get(id, id),
  'owner.audit.node': ({ owner }) => owner.audit.node({ order: 'newest_first' }),
  'owner.audit.events': ({ owner }) => owner.audit.events(id, { waitSeconds: 0 }),
  'owner.tasks.create': ({ owner }) =>
    owner.tasks.create(id, { assignee_agent_id: id, title: 'count', instructions: 'count the lines' }),
  'owner.tasks.list': ({ owner }) => owner.tasks.list(id, { ...page, state: 'open', assigneeAgentId: id }),
  'owner.tasks.get': ({ owner }) => owner.tasks.get(id, id),
  'owner.tasks.timeline': ({ owner }) => owner.tasks.timeline(id, id, page),
  'owner.tasks.cancel': ({ owner }) => owner.tasks.cancel(id, id, { reason: 'not needed' }),
}

/** A node that records requests, reports that it is a bridge, and permanently refuses everything else. */
export function listeningNode() {
  const asked: string[] = []
  const health = {
    status: 'ok',
    service: 'agent-bridge',
    stage: 'test',
    build: { version: '0', commit: 'x', built_at: null },
    server_id: id,
    portal_origin: baseUrl,
  }
  const refusal = { error: 'setup_done', message: 'no more', request_id: 'x' }
  const fetch: Fetch = async (url, { method }) => {
    const { pathname } = new URL(url)
    asked.push(`${method} ${pathname}`)
    const [status, body] = pathname === '/api/health' ? [200, health] : [410, refusal]
    return Response.json(body, { status })
  }
  return { asked, fetch }
}

export function peopleOf(fetch: Fetch): People {
  const { privateKey } = generateKeyPairSync('ed25519')
  const identity = new Identity(
    {
      server_id: id,
      agent: { id, name: 'ada', role_name: '' },
      project: { id, name: 'demo', state: 'active' },
      credential_id: id,
      binding: 'key',
      scopes: ['messages'],
    },
    { privateKey },
  )
  const session = { ...blankSession(id), session_id: id, generation: 1 }
  const sessions = { load: async () => session, save: async () => {} }
  return {
    bridge: new Bridge({ baseUrl, identity, fetch, sessions }),
    owner: Owner.resume(
      { base_url: baseUrl, portal_origin: baseUrl, cookie: `bridge_owner_dev=${'x'.repeat(43)}` },
      { fetch },
    ),
    fetch,
  }
}
