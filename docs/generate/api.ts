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
import { code, link, page, spaced, table } from './markdown.ts'
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
      ' [protocol.md](protocol.md); what each code means is in [errors.md](errors.md). The server publishes the' +
      ' same description as OpenAPI 3.1 at `GET /api/openapi`.',
    'A *uuid* is lower case. A *timestamp* is ISO 8601 in UTC with milliseconds and `Z`. Requests refuse fields' +
      ' that are not listed; clients ignore fields of answers that they do not know. Every success is `200`, except for the upgrade of a socket.',
    '## Endpoints',
    table(
      ['endpoint', 'caller', ''],
      endpoints.map((entry) => [endpointLink(entry), callers[entry.caller], entry.summary]),
    ),
    '## Callers',
    table(
      ['caller', 'sends with every request'],
      Object.entries(callers).map(([caller, words]) => [words, sentBy[caller as Caller]]),
    ),
    `Every refusal has the body ${nameOf(ErrorBody)}. Codes that may be met anywhere; those of an endpoint stand with it:`,
    table(['at', 'codes'], commonCodes()),
    '## Headers',
    table(['header', 'form', ''], headerRows()),
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
    ['every endpoint', beyond('public')],
    ['every endpoint that takes a body', codeLink('body_too_large')],
    ['every agent endpoint', beyond('agent-without-session', 'public')],
    ['every agent endpoint with a session', beyond('agent', 'agent-without-session')],
    ['every owner endpoint behind a sign-in', beyond('owner', 'public')],
    ['every way to sign in', beyond('owner-signing-in', 'public')],
    ['every report of a host', beyond('telemetry', 'public')],
  ]
}

const signed = `${code(headers.authorization)}; a key-bound or device-bound identity also ${code(headers.time)}, ${code(headers.nonce)} and ${code(headers.proof)}; a device-bound one also ${code(headers.device)}`

const sentBy: Record<Caller, string> = {
  agent: `${signed}; ${code(headers.session)}`,
  'agent-without-session': signed,
  owner: `the session cookie; with a POST also ${code(headers.origin)}`,
  'owner-signing-in': code(headers.origin),
  telemetry: `${code(headers.authorization)} with ${code('Bearer')} and the telemetry token`,
  public: 'nothing',
}

const headerNotes: Record<keyof typeof headerRules, string> = {
  authorization: 'A credential id; a legacy credential adds `.` and its secret.',
  time: 'Unix seconds at signing.',
  nonce: 'Base64url of at least 16 random bytes, never used before.',
  proof: 'Base64url of the 64 bytes of the Ed25519 signature, in its one canonical spelling.',
  device: 'JSON with exactly `os`, `machine` and `install`.',
  session: 'The id that starting a session answered.',
  idempotencyKey: 'Chosen by the client, kept over every retry of the same request.',
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
      [code('X-Content-Type-Options: nosniff'), 'every answer', ''],
      [
        code('Cache-Control: no-store'),
        'every answer but the file of the client and the assets of the page',
        '',
      ],
      [code('Cache-Control: public, max-age=31536000, immutable'), 'the file of the client', ''],
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
    table(['', ''], factsOf(entry)),
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
  if (stream === 'events') return `\`text/event-stream\`, each event a ${nameOf(response)}; see ${pushed}`
  if (stream === 'socket')
    return `\`101\`, then frames: of the client ${nameOf(frame)}, of the server ${nameOf(response)}; see ${pushed}`
  return bytes === 'response' ? 'the bytes, `application/octet-stream`' : nameOf(response)
}

function factsOf(entry: EndpointSpec): string[][] {
  const facts = [
    ['id', code(entry.id)],
    ['caller', callers[entry.caller]],
  ]
  if (entry.scope !== undefined) facts.push(['scope', scopesOf(entry)])
  else if (entry.caller.startsWith('agent')) facts.push(['scope', 'any'])
  if (entry.idempotent) facts.push([code(headers.idempotencyKey), 'required'])
  if (entry.ownerOnly) facts.push(['role', 'the owner, not a project administrator'])
  if (entry.fresh) facts.push(['sign-in', 'less than ten minutes old, or confirmed since'])
  return facts
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
