/**
 * Finds the ids in a wire object, each with its kind.
 *
 * Contract §12 "An id is also `last` …".
 */

/** Kinds of objects whose ids commands take. */
export const kinds = [
  'message',
  'task',
  'transfer',
  'conversation',
  'agent',
  'enrollment',
  'credential',
  'session',
  'project',
  'environment',
  'administrator',
  'record',
] as const
export type Kind = (typeof kinds)[number]

/** Kinds as texts name them, where the two differ. */
const words: Partial<Record<Kind, string>> = { enrollment: 'enrolment', record: 'audit record' }
export const kindWord = (kind: Kind): string => words[kind] ?? kind

/**
 * - `printed`: the object itself was printed. For a message this includes its body.
 * - `mine`: the same, for a message that this profile sent.
 * - `shown`: only its id was printed, as that of a task in the head of a message.
 * - `named`: its id is in a field that texts do not show.
 */
export type How = 'printed' | 'mine' | 'shown' | 'named'

export interface FoundId {
  readonly kind: Kind
  readonly id: string
  readonly how: How
  /** A name that tells it from others: of the object, or of the sender of a message. May be empty. */
  readonly word: string
}

export const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/** A whole id, in upper or lower case. */
export const wholeId = new RegExp(`^${uuid.source}$`, 'i')
/** The end of an id: 6 or more hexadecimal digits, with or without hyphens. */
export const ending = /^(?=(?:-*[0-9a-f]){6})[0-9a-f-]{6,35}$/i

const isId = (value: unknown): value is string =>
  typeof value === 'string' && value.length === 36 && uuid.test(value)

type Wire = Readonly<Record<string, unknown>>

/** Fields that tell the kind of an object. The first row whose fields are all present counts. */
const shapes: readonly (readonly [Kind, readonly string[]])[] = [
  ['message', ['conversation_id', 'sequence']],
  ['task', ['assignee_agent_id']],
  ['transfer', ['sender_agent_id', 'sha256']],
  ['conversation', ['participants']],
  ['agent', ['role_name']],
  ['enrollment', ['claimed_at']],
  ['credential', ['binding', 'revoked_at']],
  ['project', ['policy']],
  ['environment', ['project_id', 'kind', 'created_at']],
  ['record', ['actor', 'subject']],
  ['session', ['user', 'current']],
  ['session', ['generation', 'agent_id']],
  ['session', ['closed_at']],
  ['session', ['ended_at']],
  ['administrator', ['has_password']],
  ['project', ['deleted_at']],
]

/** Kind of an object: by its fields, otherwise by the field that holds it, such as `agents` or `project`. */
export function kindOf(object: Wire, holder = ''): Kind | undefined {
  const shape = shapes.find(([, fields]) => fields.every((field) => field in object))
  return shape?.[0] ?? kinds.find((kind) => holder === kind || holder === `${kind}s`)
}

const others: Readonly<Record<string, Kind>> = { in_reply_to: 'message', root_id: 'message' }

/** Kinds of the subjects of audit records that have another word there. */
const subjects: ReadonlyMap<unknown, Kind> = new Map([
  ['owner_user', 'administrator'],
  ['owner_session', 'session'],
])

/** Kind of the id in a field: `task_id`, `assignee_agent_id`, `agent_ids`, `in_reply_to`. */
function kindOfField(field: string): Kind | undefined {
  const noun = /(?:^|_)([a-z]+)_ids?$/.exec(field)?.[1]
  return others[field] ?? kinds.find((kind) => kind === noun)
}

/** Kinds whose ids in a field of another object are shown by texts. */
const shownKinds: ReadonlySet<Kind> = new Set(['task', 'transfer', 'conversation'])

/** The ids in a wire object, in the order of the text that shows it. `me` is the id of this profile's agent. */
export function idsIn(wire: unknown, me: string | undefined): FoundId[] {
  const found: FoundId[] = []
  const visit = (value: unknown, holder: string, isWhole: boolean): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, holder, false)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    const object = value as Wire
    for (const [field, inner] of Object.entries(object)) {
      const kind = kindOfField(field)
      if (kind === undefined) visit(inner, field, false)
      else {
        const isShown = shownKinds.has(kind) || (isWhole && !('id' in object))
        for (const id of [inner].flat().filter(isId))
          found.push({ kind, id, how: isShown ? 'shown' : 'named', word: '' })
      }
    }
    const own = ownId(object, holder, me)
    if (own !== undefined) found.push(own)
  }
  visit(wire, '', true)
  return found
}

function ownId(object: Wire, holder: string, me: string | undefined): FoundId | undefined {
  const { id, type, kind: actorKind } = object
  if (!isId(id)) return undefined
  // Texts show the name of a person who did something, not the id.
  const isPerson = holder === 'user' || (holder === 'actor' && actorKind === 'owner')
  if (isPerson) return { kind: 'administrator', id, how: 'named', word: wordOf(object) }
  const isNamed = holder === 'subject' || holder === 'actor'
  const kind = isNamed ? kindInRecord(type ?? actorKind) : kindOf(object, holder)
  if (kind === undefined) return undefined
  return { kind, id, how: isNamed ? 'shown' : howPrinted(kind, object, me), word: wordOf(object) }
}

const kindInRecord = (type: unknown): Kind | undefined =>
  kinds.find((each) => each === type) ?? subjects.get(type)

function howPrinted(kind: Kind, { body, sender }: Wire, me: string | undefined): How {
  if (kind !== 'message') return 'printed'
  if (typeof body !== 'string') return 'shown'
  const { kind: by, agent_id: agentId } = (sender ?? {}) as Wire
  return (me === undefined ? by === 'owner' : agentId === me) ? 'mine' : 'printed'
}

function wordOf({ name, sender }: Wire): string {
  const word = name ?? (sender as Wire | undefined)?.name
  return typeof word === 'string' ? word : ''
}
