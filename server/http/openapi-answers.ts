/**
 * Answers in the OpenAPI description: media type and schema of each success, each refusal with its codes, and
 * headers.
 *
 * Fastify takes one schema per status from `responsesOf`. It supports neither header references nor status
 * 101, so `completeAnswers` adds both to the finished document.
 *
 * Spec §4.1, §6; contract §1, §2.
 */
import type { TSchema } from 'typebox'
import { closeCodes } from '../../sdk/contract/agent/events.ts'
import { answerHeaders } from '../../sdk/contract/answer-headers.ts'
import { callerErrors, type EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { ErrorBody } from '../../sdk/contract/error-body.ts'
import { type ErrorCode, errors } from '../../sdk/contract/errors.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { ref } from '../../sdk/contract/primitives.ts'

export const octets = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }

/** Refers to a named schema and includes any other inline. */
export const byName = (schema: TSchema): TSchema => ('$id' in schema && schema.$id ? ref(schema) : schema)

const answer = (description: string, type: string, schema: TSchema) => ({
  description,
  content: { [type]: { schema } },
})

const json = (description: string, schema: TSchema) => answer(description, 'application/json', schema)

/** Response schemas by status. A socket has no success here, because Fastify does not describe upgrades. */
export function responsesOf(entry: EndpointSpec): Record<number, object> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of new Set([...callerErrors[entry.caller], ...entry.errors])) {
    const { status } = errors[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  if (entry.body !== undefined) byStatus.set(413, ['body_too_large'])
  const refusals = [...byStatus].map(
    ([status, codes]) => [status, json(codes.join(', '), ref(ErrorBody))] as const,
  )
  const notReady =
    entry.id === 'health.ready' ? [[503, json('not ready', byName(entry.response))] as const] : []
  return Object.fromEntries([...successOf(entry), ...refusals, ...notReady])
}

function successOf(entry: EndpointSpec): (readonly [number, object])[] {
  const { summary, response, stream, bytes } = entry
  if (stream === 'socket') return []
  if (stream === 'events') return [[200, answer(eventsWords, 'text/event-stream', byName(response))]]
  if (bytes === 'response') return [[200, { description: summary, content: octets }]]
  return [[200, json(summary, byName(response))]]
}

const eventsWords =
  'Server-sent events. The schema describes one event: its `event` line, and the JSON of its `data` line.'

interface Answer {
  readonly description: string
  readonly headers?: Record<string, object>
}

interface Document {
  readonly paths?: object
  readonly components?: object
}

/** Adds the headers of each answer and the upgrade of each socket, and stores equal refusals once. */
export function completeAnswers<T extends object>(document: T): T {
  const { paths = {}, components = {} } = document as Document
  const refusals = new Refusals()
  for (const entry of endpoints) {
    const operation = (paths as Record<string, Record<string, { responses: Record<string, object> }>>)[
      entry.path
    ]?.[entry.method.toLowerCase()]
    if (operation === undefined) throw new Error(`${entry.method} ${entry.path} is not described`)
    if (entry.stream === 'socket') operation.responses['101'] = upgradeOf(entry)
    for (const [status, each] of Object.entries(operation.responses)) {
      const complete = { ...(each as Answer), headers: headersOf(entry, Number(status)) }
      operation.responses[status] = Number(status) < 400 ? complete : refusals.refer(status, complete)
    }
  }
  Object.assign(components, { headers: headerComponents, responses: refusals.components })
  return document
}

const headerComponents = Object.fromEntries(
  answerHeaders.map(({ name, description, schema }) => [name, { description, schema }]),
)

/**
 * Collects equal refusals as components. About a thousand refusals have only fifty forms, so the document
 * stays small.
 */
class Refusals {
  readonly components: Record<string, Answer> = {}
  readonly #names = new Map<string, string>()

  refer(status: string, refusal: Answer): object {
    const content = JSON.stringify([status, refusal])
    const name = this.#names.get(content) ?? this.#nameOf(status)
    this.#names.set(content, name)
    this.components[name] = refusal
    return { $ref: `#/components/responses/${name}` }
  }

  #nameOf(status: string): string {
    const known = Object.keys(this.components).filter((name) => name.startsWith(`Refusal${status}`)).length
    return known === 0 ? `Refusal${status}` : `Refusal${status}_${known + 1}`
  }
}

const headersOf = (entry: EndpointSpec, status: number): Record<string, object> =>
  Object.fromEntries(
    answerHeaders
      .filter((each) => each.stands(entry, status) !== false)
      .map(({ name }) => [name, { $ref: `#/components/headers/${name}` }]),
  )

/**
 * Describes the upgrade of a socket. OpenAPI cannot describe frames, so the schema is that of one frame from
 * either side.
 */
const upgradeOf = ({ summary, frame, response }: EndpointSpec): object =>
  answer(
    `${summary} Each frame is a text frame of one JSON object. The server closes with ${Object.values(closeCodes).join(', ')}.`,
    'application/json',
    {
      anyOf: [
        { ...componentOf(response), description: 'A frame from the server.' },
        { ...componentOf(frame), description: 'A frame from the client.' },
      ],
    },
  )

const componentOf = (schema: TSchema | undefined): object => ({
  $ref: `#/components/schemas/${(schema as { $id?: string } | undefined)?.$id ?? ''}`,
})
