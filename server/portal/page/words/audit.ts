/** Records of the audit in words. The sentences are those of the contract, which the command line prints too. */
import { type AuditRecord, oneLine } from '../../../../sdk/browser.ts'
import { type AuditKind, auditKinds } from '../../../../sdk/contract/audit-kinds.ts'
import { plural } from './plural.ts'

/** All kinds, by the alphabet. */
export const kinds = (Object.keys(auditKinds) as AuditKind[]).sort()

export const isKind = (kind: string | undefined): kind is AuditKind => Object.hasOwn(auditKinds, kind ?? '')

/**
 * `message.acknowledged` becomes `message acknowledged`. `owner.signed_in` becomes `signed in`: administrators sign
 * in too, and the actor stands beside it.
 */
export const kindWords = (kind: string): string => spelled(kind.replace(/^owner\./, '').replace('.', ' '))

/** The page spells the word as people read it. */
const spelled = (name: string): string => name.replaceAll('_', ' ').replaceAll('enrollment', 'enrolment')

/** Words of a line of the activity, with what the details of the record tell. */
export function actWords({ kind, details }: AuditRecord): string {
  const { sequence, to, percent, message_ids } = details
  if (kind === 'message.sent' && typeof sequence === 'number') return `sent message ${sequence}`
  if (kind === 'message.acknowledged' && Array.isArray(message_ids))
    return `acknowledged ${plural(message_ids.length, 'message')}`
  if (kind === 'project.state_changed' && typeof to === 'string')
    return to === 'active' ? 'project resumed' : `project ${oneLine(to)}`
  if (kind === 'task.progressed' && typeof percent === 'number') return `task progressed, ${percent} %`
  return kindWords(kind)
}

/** One sentence. A newer node may have kinds that this page does not know. */
export const kindSentence = (kind: string): string | undefined =>
  isKind(kind) ? auditKinds[kind] : undefined

const kindOfActor: Readonly<Record<AuditRecord['actor']['kind'], string>> = {
  agent: 'an agent',
  owner: 'a person',
  system: 'the service',
  anonymous: 'somebody unknown',
}

export const actorName = ({ name, kind }: AuditRecord['actor']): string =>
  name === '' || kind === 'system' ? kindOfActor[kind] : name

export const actorKind = ({ kind }: AuditRecord['actor']): string => kindOfActor[kind]

/** `owner_session` becomes `owner session`. */
export const subjectType = (type: string): string => spelled(type)

const screens: Readonly<Record<string, string>> = {
  agent: 'agents',
  conversation: 'conversations',
  message: 'messages',
  task: 'tasks',
  transfer: 'transfers',
}

/** Returns the address of the screen of a subject, if it has one. */
export function subjectAddress({ project_id, subject: { type, id } }: AuditRecord): string | undefined {
  const screen = screens[type]
  return screen === undefined || id === null || project_id === null
    ? undefined
    : `/projects/${project_id}/${screen}/${id}`
}
