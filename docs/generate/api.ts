/** Generates docs/api.md from the contract: all endpoints and all named schemas. */
import { answerHeaders } from '../../sdk/contract/answer-headers.ts'
import { auditKinds } from '../../sdk/contract/audit-kinds.ts'
import { type Caller, callerErrors, type EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { ErrorBody } from '../../sdk/contract/error-body.ts'
import { type ErrorCode, errors } from '../../sdk/contract/errors.ts'
import { headerRules, headers } from '../../sdk/contract/headers.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { namedSchemas } from '../../sdk/contract/primitives.ts'
import { limitsTable } from './limits.ts'
import { capital, code, facts, link, linkedSentence, page, spaced, table } from './markdown.ts'
import { describe } from './schemas.ts'

export const headingOf = ({ method, path }: EndpointSpec): string => `${method} ${path}`

/** Returns a link to the section of an endpoint. */
export const endpointLink = (entry: EndpointSpec, file = ''): string =>
  link(code(headingOf(entry)), file, headingOf(entry))

const codeLink = (name: ErrorCode): string => `[${code(name)}](errors.md#${name})`

/** Returns the codes that an endpoint may answer in addition to those of its caller. */
export const ownErrors = (entry: EndpointSpec): ErrorCode[] =>
  [...new Set(entry.errors)]
    .filter((each) => !callerErrors[entry.caller].includes(each))
    .sort((one, other) => errors[one].status - errors[other].status)

const callers: Record<Caller, string> = {
  agent: 'an agent with a session',
  'agent-without-session': 'an agent',
  owner: 'a signed-in owner',
  'owner-signing-in': 'a person who signs in',
  telemetry: 'a host that reports its load',
  public: 'anybody',
}

export function apiPage(): string {
  return page('API', [
    'Every endpoint of the running server. The rules behind it, such as how a request is signed, are in' +
      ' [protocol.md](protocol.md). The meaning of each code is in [errors.md](errors.md). The server publishes the' +
      ' same description as OpenAPI 3.1 at `GET /api/openapi`.',
    'A *uuid* is lower case. A *timestamp* is ISO 8601 in UTC with milliseconds and `Z`. Requests refuse fields' +
      ' that are not listed. Clients ignore fields of answers that they do not know. Every success is `200`, except for' +
      ' the upgrade of a socket.',
    '## Endpoints',
    table(
      ['endpoint', 'caller', 'purpose'],
      endpoints.map((entry) => [
        code(headingOf(entry)),
        callers[entry.caller],
        linkedSentence(entry.summary, '', headingOf(entry)),
      ]),
    ),
    '## Callers',
    table(
      ['caller', 'sends with every request'],
      Object.entries(callers).map(([caller, words]) => [capital(words), sentBy[caller as Caller]]),
    ),
    `Every refusal has the body ${nameOf(ErrorBody)}. The section of an endpoint lists its own codes. These codes are common:`,
    table(['at', 'codes'], commonCodes()),
    '## Headers',
    table(['header', 'form', 'content'], headerRows()),
    'Of answers:',
    answerHeadersSection(),
    '## Limits',
    'Settings and policies that move one are named.',
    limitsTable(),
    ...sections(),
    '## Schemas',
    ...[...namedSchemas]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([name, schema]) => `### ${name}\n\n${name === 'AuditKind' ? kindsTable() : describe(schema)}`),
  ])
}

const kindsTable = (): string =>
  table(
    ['kind', 'what happened'],
    Object.entries(auditKinds).map(([kind, sentence]) => [code(kind), sentence]),
  )

function commonCodes(): string[][] {
  const beyond = (caller: Caller, ...others: Caller[]) => {
    const known = new Set(others.flatMap((other) => callerErrors[other]))
    return callerErrors[caller]
      .filter((each) => !known.has(each))
      .map(codeLink)
      .join(', ')
  }
  return [
    ['Every endpoint', beyond('public')],
    ['Every endpoint that takes a body', codeLink('body_too_large')],
    ['Every agent endpoint', beyond('agent-without-session', 'public')],
    ['Every agent endpoint with a session', beyond('agent', 'agent-without-session')],
    ['Every owner endpoint behind a sign-in', beyond('owner', 'public')],
    ['Every way to sign in', beyond('owner-signing-in', 'public')],
    ['Every report of a host', beyond('telemetry', 'public')],
  ]
}

const signed = `${code(headers.authorization)}. A key-bound or device-bound identity also sends ${code(headers.time)}, ${code(headers.nonce)} and ${code(headers.proof)}. A device-bound one also sends ${code(headers.device)}.`

const sentBy: Record<Caller, string> = {
  agent: `${code(headers.session)} and ${signed}`,
  'agent-without-session': signed,
  owner: `The session cookie, and with a POST also ${code(headers.origin)}`,
  'owner-signing-in': code(headers.origin),
  telemetry: `${code(headers.authorization)} with ${code('Bearer')} and the telemetry token`,
  public: 'Nothing more',
}

const headerNotes: Record<keyof typeof headerRules, string> = {
  authorization: 'A credential id. A legacy credential adds `.` and its secret.',
  time: 'Unix seconds at signing.',
  nonce: 'Base64url of at least 16 random bytes, never used before.',
  proof: 'Base64url of the 64 bytes of the Ed25519 signature, in its one canonical spelling.',
  device: 'JSON with exactly `os`, `machine` and `install`.',
  session: 'The id that starting a session answered.',
  idempotencyKey: 'Chosen by the client, and the same in every retry of a request.',
}

const headerRows = (): string[][] =>
  Object.entries(headerRules).map(([name, rule]) => {
    const field = name as keyof typeof headerRules
    return [code(headers[field]), code(rule.source), headerNotes[field]]
  })

export const answerHeadersSection = (): string =>
  table(
    ['header of an answer', 'on', 'value'],
    [
      ...answerHeaders.map(({ name, on, description }) => [code(name), on, description]),
      [
        code('X-Content-Type-Options: nosniff'),
        'every answer',
        'Browsers must not guess another content type.',
      ],
      [
        code('Cache-Control: no-store'),
        'every answer but the file of the client and the assets of the page',
        'No cache stores the answer.',
      ],
      [
        code('Cache-Control: public, max-age=31536000, immutable'),
        'the file of the client',
        'The bytes at this address never change.',
      ],
      [
        code('Strict-Transport-Security: max-age=31536000'),
        'every answer, if the portal origin is https',
        '*Choice:* for this host alone, not for the names below it.',
      ],
    ],
  )

/** Returns the heading of an endpoint's group. For `owner.signIn.start` it is `Owner: sign in`. */
function groupOf({ id, path }: EndpointSpec): string {
  const noun = spaced(id.split('.').at(-2) ?? '')
  if (id.startsWith('owner.')) return `Owner: ${noun}`
  return path.startsWith('/api/v1/') ? `Agent: ${noun}` : `Node: ${noun}`
}

function sections(): string[] {
  const groups = Map.groupBy(endpoints, groupOf)
  return [...groups].flatMap(([group, entries]) => [`## ${group}`, ...entries.flatMap(section)])
}

function section(entry: EndpointSpec): string[] {
  const { params, query, body } = entry
  const own = ownErrors(entry)
  return [
    `### ${headingOf(entry)}`,
    entry.summary,
    facts(factsOf(entry)),
    ...(params ? ['Path:', describe(params)] : []),
    ...(query ? ['Query:', describe(query)] : []),
    ...(body ? [`Body: ${nameOf(body)}.`] : []),
    ...(entry.bytes === 'request' ? ['Body: the bytes of the part.'] : []),
    `Answer: ${answerWords(entry)}.`,
    own.length === 0
      ? 'Codes: only the common ones.'
      : `Codes, beside the common ones: ${own.map(codeLink).join(', ')}.`,
  ]
}

function answerWords({ stream, bytes, frame = {}, response }: EndpointSpec): string {
  const pushed = '[protocol.md](protocol.md#10-delivery)'
  if (stream === 'events')
    return `\`text/event-stream\`, each event a ${nameOf(response)}. Details are in ${pushed}`
  if (stream === 'socket')
    return `\`101\`, then frames. The client sends ${nameOf(frame)}, and the server ${nameOf(response)}. Details are in ${pushed}`
  return bytes === 'response' ? 'the bytes, `application/octet-stream`' : nameOf(response)
}

function factsOf(entry: EndpointSpec): (readonly [name: string, text: string])[] {
  const rows: (readonly [name: string, text: string])[] = [
    ['Id', code(entry.id)],
    ['Caller', callers[entry.caller]],
  ]
  if (entry.scope !== undefined) rows.push(['Scope', scopesOf(entry)])
  else if (entry.caller.startsWith('agent')) rows.push(['Scope', 'any'])
  if (entry.idempotent) rows.push([code(headers.idempotencyKey), 'required'])
  if (entry.ownerOnly) rows.push(['Role', 'the owner, not a project administrator'])
  if (entry.fresh) rows.push(['Sign-in', 'less than ten minutes old, or confirmed since'])
  return rows
}

const scopesOf = (entry: EndpointSpec): string => {
  const reads = entry.method === 'GET' || entry.reads === true
  return (entry.scope ?? [])
    .flatMap((noun) => (reads ? [noun, `${noun}:read`] : [noun]))
    .map(code)
    .join(' or ')
}

const nameOf = (schema: object): string => {
  const id = '$id' in schema && typeof schema.$id === 'string' ? schema.$id : undefined
  return id === undefined ? 'an object' : link(id, '', id)
}
