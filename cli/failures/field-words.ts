/**
 * Describes schema faults: the typed option or argument in place of the field's path, and the rule that it
 * breaks.
 *
 * A field without an option or argument gets a noun, such as "the new password".
 *
 * Contract §1 "422 with the path of each fault", §12.
 */
import type { BridgeError } from '../../sdk/index.ts'
import type { CurrentCommand } from '../terminal/current-command.ts'

/** For fields whose option or argument has another name: the names to try, in this order. */
const others: Readonly<Record<string, readonly string[]>> = {
  agent_ids: ['agent'],
  assignee_agent_id: ['peer', 'agent'],
  body: ['text'],
  expects_reply_by: ['--reply-within', '--timeout'],
  filename: ['--name', 'file'],
  'idempotency-key': ['--key'],
  in_reply_to: ['message_id'],
  instructions: ['--file'],
  interval_seconds: ['--every'],
  name: ['new_name', 'administrator'],
  prompt_template: ['--prompt-file'],
  recipient_agent_id: ['peer', 'agent', '--to'],
  size: ['file'],
}

/** Nouns for fields that are read from a prompt, a file or standard input. */
const nouns: Readonly<Record<string, string>> = {
  agent_ids: 'the agents',
  body: 'the text',
  code: 'the enrolment code',
  filename: 'the name of the file',
  id: 'the id',
  'idempotency-key': 'the idempotency key',
  link_token: 'the link',
  name: 'the name',
  new_password: 'the new password',
  password: 'the password',
  size: 'the size of the file',
  token: 'the link',
}

/** Describes all faults. Returns undefined if the node named none. */
export function faultWords({ details }: BridgeError, current: CurrentCommand): string | undefined {
  const { faults } = details
  if (!Array.isArray(faults) || faults.length === 0) return undefined
  const found = faults.map(({ path, problem }: { path?: unknown; problem?: unknown }) => {
    const field = fieldOf(String(path))
    return { subject: subjectOf(field, current), rule: ruleWords(String(problem), field) }
  })
  // A schema with variants reports faults of every variant. Prefer faults of options and arguments, and keep
  // the first per name.
  const typed = found.filter(({ subject }) => /^[-<]/.test(subject))
  const bySubject = new Map(
    (typed.length > 0 ? typed : found).toReversed().map((fault) => [fault.subject, fault]),
  )
  return [...bySubject.values()]
    .toReversed()
    .map(({ subject, rule }) => `${subject}${predicate.test(rule) ? ' ' : ': '}${rule}`)
    .join('; ')
}

/** Rules that read as a predicate (`--ttl must be …`). Before any other rule a colon is printed. */
const predicate = /^(must|is|cannot|does|has|holds|names|breaks|differs|may)\b/

/** Returns the last name of `body/policy/idle_seconds`, `body/message_ids/0` or `header idempotency-key`. */
const fieldOf = (path: string): string =>
  path
    .split(/[/ ]/)
    .slice(1)
    .findLast((part) => !/^\d+$/.test(part)) ?? ''

/** Returns the option or argument that sets a field, or a noun. */
export function subjectOf(field: string, { options, arguments: args }: CurrentCommand): string {
  const base = field.replace(/_(seconds|id|ids|at|name|template|sequence)$/, '')
  const names = [field, base, field.replace(/s$/, '')]
  const option = [...names.map((name) => `--${name.replaceAll('_', '-')}`), ...(others[field] ?? [])].find(
    (name) => options.includes(name),
  )
  if (option !== undefined) return option
  const argument = [...names, ...(others[field] ?? [])].find((name) => args.includes(name))
  const idOf = field === 'id' ? args.find((name) => name.endsWith('_id')) : undefined
  const found = argument ?? idOf
  if (found !== undefined) return `<${found}>`
  return nouns[field] ?? (field === '' ? 'the request' : `the ${field.replaceAll(/[_-]/g, ' ')}`)
}

const rules: readonly (readonly [RegExp, string])[] = [
  [/^must NOT have fewer than (\d+) (\w+)$/, 'must have at least $1 $2'],
  [/^must NOT have more than (\d+) (\w+)$/, 'must have at most $1 $2'],
  [/^must be >= (\d+)$/, 'must be at least $1'],
  [/^must be <= (\d+)$/, 'must be at most $1'],
  [/^must match format "uuid"$/, 'must be an id'],
  [/^must match format "date-time"$/, 'must be a valid date and time'],
  [/^must NOT have duplicate items.*$/, 'must not have duplicates'],
  [/^is not a known field$/, 'is not known to this node, which may be older'],
  [/^must not be longer than (\d+) bytes of UTF-8$/, 'must not be longer than $1 bytes'],
  [/^must not contain half of a surrogate pair$/, 'must be valid Unicode'],
]

const isName = /^(name|title|role_name|filename)$/

function ruleWords(problem: string, field: string): string {
  const [pattern, words] = rules.find(([known]) => known.test(problem)) ?? []
  if (pattern !== undefined && words !== undefined) {
    const rule = problem.replace(pattern, words).replace(/\b1 (character|item)s$/, '1 $1')
    return field.endsWith('_seconds') && /least|most/.test(rule) ? `${rule} seconds` : rule
  }
  if (!problem.startsWith('must match ')) return problem
  return isName.test(field)
    ? 'must be one line, without spaces at its ends and without control or invisible characters'
    : 'has the wrong format'
}
