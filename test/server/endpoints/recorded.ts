/**
 * The audit records that every answer must leave, found by its request id: one record for a change, none if
 * nothing changed.
 *
 * Contract §10 "Audit record".
 */
import { statSync } from 'node:fs'
import { expect } from 'vitest'
import type { AuditKind } from '../../../sdk/contract/audit-kinds.ts'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { ErrorCode } from '../../../sdk/contract/errors.ts'
import type { ContractEntry } from '../../../sdk/contract/index.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { TestAgent } from '../../support/agent.ts'
import type { Reply } from '../../support/http.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { openStore, type StoreStatement } from '../../support/test-store.ts'
import type { Ready } from './send.ts'
import type { World } from './world.ts'

export interface Recorded {
  readonly kind: AuditKind
  readonly project_id: string | null
  readonly actor_kind: string
  readonly actor_id: string | null
  readonly actor_name: string
  readonly details: string
}

export type MutationId = Extract<ContractEntry, { readonly method: 'POST' | 'PUT' }>['id']

/**
 * The kind of the one record or its possible kinds, or the reason why there is none. Does not compile while a
 * mutation is missing.
 */
export const kinds: Record<MutationId, AuditKind | readonly AuditKind[] | { readonly none: string }> = {
  'enrollments.claim': 'enrollment.claimed',
  'sessions.challenge': { none: 'it changes nothing until a session starts with it, which is recorded' },
  'sessions.start': ['session.started', 'session.resumed'],
  'sessions.close': 'session.closed',
  'connectionMode.report': 'session.schedule_reported',
  'recipientKeys.register': 'recipient_key.registered',
  'conversations.open': 'conversation.opened',
  'messages.send': 'message.sent',
  'acknowledgements.create': 'message.acknowledged',
  'tasks.create': 'task.created',
  'tasks.claim': 'task.claimed',
  'tasks.renew': 'task.renewed',
  'tasks.progress': 'task.progressed',
  'tasks.complete': 'task.completed',
  'tasks.fail': 'task.failed',
  'tasks.release': 'task.released',
  'tasks.decline': 'task.declined',
  'tasks.cancel': 'task.cancelled',
  'tasks.stopped': 'task.stopped',
  'transfers.create': 'transfer.offered',
  'transfers.accept': 'transfer.accepted',
  'transfers.decline': 'transfer.declined',
  'transfers.cancel': 'transfer.cancelled',
  'transfers.fail': 'transfer.failed',
  'transfers.receipt': 'transfer.verified',
  'transfers.cleanup': 'transfer.cleaned_up',
  'transfers.deposit': 'transfer.endpoint_deposited',
  'packages.putPart': 'transfer.part_stored',
  'packages.finalize': 'transfer.uploaded',
  'telemetry.report': { none: 'a measurement, and nobody’s doing; twice a minute and host' },

  'owner.signIn.setup': 'owner.set_up',
  'owner.signIn.start': 'owner.signed_in',
  'owner.signIn.close': 'owner.signed_out',
  'owner.signIn.confirm': 'owner.confirmed',
  'owner.signIn.password': 'owner.password_changed',
  'owner.signIn.revoke': 'owner.signed_out',
  'owner.administrators.create': 'administrator.created',
  'owner.administrators.link': 'administrator.link_made',
  'owner.administrators.assign': 'administrator.assigned',
  'owner.administrators.setState': 'administrator.disabled',
  'owner.projects.create': 'project.created',
  'owner.projects.setState': 'project.state_changed',
  'owner.projects.change': 'project.changed',
  'owner.projects.delete': 'project.deleted',
  'owner.environments.change': 'environment.changed',
  'owner.environments.create': 'environment.created',
  'owner.agents.create': 'agent.created',
  'owner.agents.setState': 'agent.disabled',
  'owner.agents.change': 'agent.changed',
  'owner.agents.rename': 'agent.renamed',
  'owner.agents.setInstructions': 'agent.instructed',
  'owner.pairings.set': 'pairing.disabled',
  'owner.enrollments.create': 'enrollment.created',
  'owner.enrollments.revoke': 'enrollment.revoked',
  'owner.credentials.issue': 'credential.issued',
  'owner.credentials.revoke': 'credential.revoked',
  'owner.takeovers.issue': 'takeover.issued',
  'owner.recipientKeys.set': 'recipient_key.set',
  'owner.messages.send': 'message.sent',
  'owner.messages.acknowledge': 'message.acknowledged',
  'owner.tasks.create': 'task.created',
  'owner.tasks.cancel': 'task.cancelled',
  'owner.transfers.cancel': 'transfer.cancelled',
}

/** The additional records of further effects of a change. */
const consequences: Partial<Record<MutationId, readonly AuditKind[]>> = {
  'owner.signIn.setup': ['owner.signed_in'],
  'owner.agents.setState': ['session.fenced'],
  'owner.enrollments.create': ['enrollment.revoked'],
  'owner.credentials.issue': ['credential.revoked', 'session.fenced'],
  'owner.credentials.revoke': ['session.fenced'],
  'owner.takeovers.issue': ['session.fenced'],
  'owner.messages.send': ['conversation.opened'],
  'owner.tasks.create': ['conversation.opened'],
}

/** Accepted cases that change nothing: repetitions, and states that were already reached. */
const unchanging: Partial<Record<MutationId, readonly string[]>> = {
  'owner.projects.change': ['to what it already is'],
  'owner.environments.change': ['to what it already is'],
  'owner.agents.change': ['to what it already is'],
  'enrollments.claim': ['again, with the same key'],
  'recipientKeys.register': ['again'],
  'conversations.open': ['success'],
  'owner.administrators.assign': ['where nothing was assigned'],
}

/** "Each read is audited." Contract §9. */
const auditedReads: Readonly<Record<string, AuditKind>> = { 'transfers.secret': 'transfer.endpoint_read' }

/** Refusals that are reported to an owner. */
const told: Partial<Record<ErrorCode, AuditKind>> = {
  enrollment_used: 'enrollment.reused',
  conversation_budget: 'conversation.guard_tripped',
  rate_limited: 'session.replacement_refused',
  not_permitted: 'access.refused',
  scope_missing: 'access.refused',
  receipt_mismatch: 'transfer.receipt_refused',
  sign_in_failed: 'owner.sign_in_failed',
}

/** Fields that contain message texts or secrets. */
const kept =
  /^(body|instructions|result|evidence|password|new_password|token|link_token|code|proof|takeover_grant|challenge|prompt_template|note)$/

const secretsIn = (body: unknown): string[] =>
  Object.entries((body ?? {}) as Record<string, unknown>).flatMap(([name, value]) =>
    kept.test(name) && typeof value === 'string' && value.length > 3 ? [value] : [],
  )

const kindsOf = (
  expected: AuditKind | readonly AuditKind[] | { readonly none: string } | undefined,
): readonly AuditKind[] => {
  if (typeof expected === 'string') return [expected]
  return expected === undefined || 'none' in expected ? [] : expected
}

/** The kinds that the cases of the endpoints must leave. */
export const kindsOfEndpoints: ReadonlySet<AuditKind> = new Set([
  ...Object.values(kinds).flatMap(kindsOf),
  ...Object.values(consequences).flat(),
  ...Object.values(auditedReads),
  ...Object.values(told),
])

/** `special` is the name of the case. */
export function expectRecorded(
  world: World,
  entry: EndpointSpec,
  made: Ready | undefined,
  reply: Reply,
  special: string,
): void {
  const records = recordsOf(world, reply)
  const names = records.map(({ kind }) => kind)
  if (reply.status !== 200) {
    const { error } = reply.json as { error: ErrorCode }
    expect(names.filter((kind) => kind !== told[error])).toEqual([])
    expect(names.length).toBeLessThan(2)
    return
  }
  const own = kindsOf(entry.method === 'GET' ? auditedReads[entry.id] : kinds[entry.id as MutationId])
  const isChange = own.length > 0 && !unchanging[entry.id as MutationId]?.includes(special)
  const following = consequences[entry.id as MutationId] ?? []
  expect(names.filter((kind) => own.includes(kind))).toHaveLength(isChange ? 1 : 0)
  expect(names.filter((kind) => !own.includes(kind) && !following.includes(kind))).toEqual([])
  for (const record of records) {
    const by = made?.by
    const actor =
      by instanceof TestAgent
        ? ['agent', by.id]
        : [entry.path.includes('/admin') ? 'owner' : 'agent', record.actor_id]
    expect([record.actor_kind, record.actor_id]).toEqual(actor)
    expect(record.actor_id).not.toBeNull()
    for (const secret of secretsIn(made?.body)) expect(record.details).not.toContain(secret)
  }
}

function recordsOf(world: World, reply: Reply): Recorded[] {
  const requestId = String(reply.headers['x-request-id'])
  return world.folders.flatMap((folder) => auditOf(world, folder)?.all(requestId) ?? [])
}

type AuditReader = StoreStatement<Recorded>

/** One reader per store: a case may remove a store or replace it. */
const readers = new WeakMap<World, Map<string, AuditReader>>()

function auditOf(world: World, folder: string): AuditReader | undefined {
  const file = statSync(isOnPostgres ? folder : databasePath(folder), { throwIfNoEntry: false })
  if (file === undefined) return undefined
  const known = readers.get(world) ?? new Map<string, AuditReader>()
  readers.set(world, known)
  const key = `${folder} ${file.ino}`
  const reader = known.get(key) ?? openAudit(world, folder)
  known.set(key, reader)
  return reader
}

function openAudit(world: World, folder: string): AuditReader {
  const database = openStore(folder)
  world.onClose(async () => void database.close())
  return database.prepare('SELECT * FROM audit WHERE request_id = ? ORDER BY id')
}
