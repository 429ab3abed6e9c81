/** Generates docs/errors.md: all error codes, and the endpoints that answer them. */
import { type Caller, callerErrors, type EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { ErrorBody } from '../../sdk/contract/error-body.ts'
import { type ErrorCode, errors, type Retry } from '../../sdk/contract/errors.ts'
import { helperErrors, startErrors } from '../../sdk/contract/helper/errors.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { endpointLink, ownErrors } from './api.ts'
import { code, facts, page, table, visible } from './markdown.ts'
import { describe } from './schemas.ts'

/**
 * Codes that the server does not answer, and the part of the service that they belong to. The test of this
 * page takes a code off the list as soon as the server throws it.
 */
export const reserved: Partial<Record<ErrorCode, string>> = {}

const retries: Record<Retry, string> = {
  never: 'No',
  'after-delay': 'Later',
  'same-key': 'Same key',
}

const statusMeanings: Record<(typeof errors)[ErrorCode]['status'], string> = {
  401: 'Missing, invalid, expired or revoked identity',
  403: 'Insufficient role, origin or local policy',
  404: 'Unknown or inaccessible resource',
  405: 'Unsupported method',
  409: 'Conflict of state, generation or idempotency',
  410: 'Ended for good',
  413: 'Body too large',
  422: 'Invalid request',
  429: 'A rate limit, the limit of open waits, or the loop guard',
  500: 'A bug',
  503: 'Not now',
}

export function errorsPage(): string {
  const catalogue = Object.keys(errors) as ErrorCode[]
  const byStatus = Map.groupBy(catalogue, (name) => errors[name].status)
  return page('Errors', [
    'Every refusal of the node has one of these codes. A code is a fact about the protocol and never changes its meaning:' +
      ' switch on it, never on the message. [protocol.md](protocol.md) says what a client does about each. The transfer' +
      ' helper has [codes of its own](protocol.md#145-codes).',
    '## The body',
    'Every JSON error has this body. `429` and `503` also carry `Retry-After` in whole seconds.',
    describe(ErrorBody),
    '## Retry',
    '*Retry* says whether the same request may succeed later without any other change.',
    table(
      ['retry', 'meaning'],
      [
        [retries.never, 'The same request will be refused again.'],
        [
          retries['after-delay'],
          'Wait `retry_after_ms`, or some seconds if it is absent, then send the request again.',
        ],
        [
          retries['same-key'],
          'The outcome is unknown. Send the request again with the same Idempotency-Key.',
        ],
      ],
    ),
    ...[...byStatus].flatMap(([status, codes]) => [
      `## ${status}: ${statusMeanings[status]}`,
      ...codes.flatMap(section),
    ]),
  ])
}

/** Returns the section of a code. Other pages link to its heading. */
const section = (name: ErrorCode): string[] => {
  const { retry, meaning } = errors[name]
  return [
    `### ${name}`,
    visible(meaning),
    facts([
      ['Retry', retries[retry].toLowerCase()],
      ['Where', placesOf(name)],
    ]),
  ]
}

/** Table of all codes without their endpoints, for protocol.md. */
export const codesSection = (): string =>
  table(
    ['code', 'status', 'retry', 'meaning'],
    (Object.keys(errors) as ErrorCode[])
      .sort((one, other) => errors[one].status - errors[other].status)
      .map((name) => {
        const { status, retry, meaning } = errors[name]
        return [code(name), String(status), retries[retry].toLowerCase(), meaning]
      }),
  )

/** Table of the codes of the transfer helper. */
export const helperCodesSection = (): string =>
  table(
    ['code', 'status', 'meaning'],
    Object.entries(helperErrors)
      .sort(([, one], [, other]) => one.status - other.status)
      .map(([name, { status, meaning }]) => [code(name), String(status), meaning]),
  )

/** Table of the codes with which a helper refuses to start. */
export const startCodesSection = (): string =>
  table(
    ['code', 'meaning'],
    Object.entries(startErrors).map(([name, meaning]) => [code(name), meaning]),
  )

const groups: readonly (readonly [words: string, callers: readonly Caller[]])[] = [
  ['every endpoint', ['agent', 'agent-without-session', 'owner', 'owner-signing-in', 'telemetry', 'public']],
  ['every agent endpoint', ['agent', 'agent-without-session']],
  ['every agent endpoint with a session', ['agent']],
  ['every owner endpoint', ['owner', 'owner-signing-in']],
  ['every owner endpoint behind a sign-in', ['owner']],
  ['every way to sign in', ['owner-signing-in']],
  ['every report of a host', ['telemetry']],
]

/** Codes of a caller that only some of its endpoints can answer, each with the condition for an endpoint. */
const narrowed: Partial<Record<ErrorCode, (entry: EndpointSpec) => boolean>> = {
  scope_missing: (entry) => entry.scope !== undefined,
  not_permitted: (entry) => entry.ownerOnly === true,
  reauth_required: (entry) => entry.fresh === true,
}

function placesOf(name: ErrorCode): string {
  const part = reserved[name]
  if (part !== undefined) return `nowhere: reserved for ${part}`
  if (name === 'body_too_large') return 'every endpoint that takes a body'
  const narrow = narrowed[name]
  const some = endpoints.filter(narrow ?? ((entry) => ownErrors(entry).includes(name)))
  const places = [...(narrow === undefined ? commonPlaces(name) : []), ...some.map(linked)]
  return places.join(', ')
}

const linked = (entry: EndpointSpec): string => endpointLink(entry, 'api.md')

function commonPlaces(name: ErrorCode): string[] {
  const callers = (Object.keys(callerErrors) as Caller[]).filter((each) => callerErrors[each].includes(name))
  const covered = new Set<Caller>()
  return groups.flatMap(([words, members]) => {
    if (members.some((each) => !callers.includes(each) || covered.has(each))) return []
    for (const each of members) covered.add(each)
    return [words]
  })
}
