/**
 * The server sends what the API description declares: each endpoint's valid request and its answer are
 * validated with the document of the running server only.
 *
 * An undeclared field is a fault, so a leak is found too.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { contract, type EndpointId, endpoints } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { closed } from '../server/endpoints/answers.ts'
import type { CaseOf } from '../server/endpoints/case.ts'
import { cases } from '../server/endpoints/cases.ts'
import { send } from '../server/endpoints/send.ts'
import { startWorld, type World } from '../server/endpoints/world.ts'
import type { Reply } from '../support/http.ts'
import { authenticate, openEvents, openSocket, type StreamEvent } from '../support/streams.ts'
import { answerOf, type OpenapiDocument } from './served-document.ts'

let world: World
let passedMs = 0
let ajv: Ajv2020
let document: OpenapiDocument

beforeAll(async () => {
  world = await startWorld({ monotonicMs: () => performance.now() + passedMs })
  document = (await (await fetch(`${world.bridge.url}/api/openapi`)).json()) as OpenapiDocument
  ajv = new Ajv2020({ allErrors: true, strict: false, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(closed(document) as object, 'document')
})
afterAll(() => world.close())

const pointer = (...parts: readonly string[]) =>
  parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')

/** Returns the faults of a value by the schema at a place in the document. */
function faultsAt(place: readonly string[], value: unknown, type = 'application/json'): string[] {
  // Unlike `compile`, this compiles each part of the document only once.
  const validate = ajv.getSchema(`document#/${pointer(...place, 'content', type, 'schema')}`)
  if (validate === undefined) throw new Error(`the document has no schema at ${place.join(' ')}`)
  validate(value)
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
}

const answerPlace = (entry: EndpointSpec, status: number): readonly string[] =>
  answerOf(document, entry, status)?.place ?? []

/** The declared content type of an answer of bytes. */
const bytesAt = (entry: EndpointSpec): string =>
  Object.keys(answerOf(document, entry, 200)?.content ?? {}).join()

/** Expects the declared headers of an answer; a header of stored answers may be absent. */
function expectHeaders(entry: EndpointSpec, { status, headers }: Reply): void {
  const declared = Object.keys(answerOf(document, entry, status)?.headers ?? {})
  for (const name of declared.filter((each) => each !== 'Idempotency-Replayed')) {
    const value = headers[name.toLowerCase()]
    const { schema } = document.components.headers[name] ?? { schema: {} }
    const typed = schema.type === 'integer' ? Number(value) : [value].flat()[0]
    expect([entry.id, name, ajv.validate(schema as object, typed)]).toEqual([entry.id, name, true])
  }
  const known = Object.keys(document.components.headers).map((name) => name.toLowerCase())
  const sent = Object.keys(headers).filter((name) => known.includes(name))
  const promised = declared.map((name) => name.toLowerCase())
  expect([entry.id, sent.filter((name) => !promised.includes(name))]).toEqual([entry.id, []])
}

describe.each(endpoints.filter(({ stream }) => !stream).map((entry) => ({ id: entry.id, entry })))(
  '$id',
  ({ id, entry }) => {
    const place = ['paths', entry.path, entry.method.toLowerCase()]

    test('accepts, answers and refuses requests as described', async () => {
      const ready = await (cases[id as EndpointId] as CaseOf<never>).success(world)
      if (entry.body) expect(faultsAt([...place, 'requestBody'], ready.body)).toEqual([])

      const refused = await send(entry, { ...ready, query: '?surplus=1' })
      expect(refused.status, refused.text).toBe(422)
      expect(faultsAt(answerPlace(entry, 422), refused.json)).toEqual([])
      expectHeaders(entry, refused)

      const answered = await send(entry, ready)
      expect(answered.status, answered.text).toBe(200)
      expectHeaders(entry, answered)
      if (entry.bytes === 'response') expect(answered.headers['content-type']).toBe(bytesAt(entry))
      else expect(faultsAt(answerPlace(entry, 200), answered.json)).toEqual([])
    })
  },
)

test('the check finds an additional field and a missing one', () => {
  const place = ['paths', '/api/ready', 'get', 'responses', '200']
  const checks = {
    ...{ auth: true, envelope_key: true, migrations: true },
    ...{ database: true, storage: true, nodes: true },
  }
  const others = { peers: 'none', durability: 'local', packages: true }
  expect(faultsAt(place, { ready: true, checks, ...others })).toEqual([])
  expect(faultsAt(place, { ready: true, checks: { ...checks, secret: 1 }, ...others })).toHaveLength(1)
  expect(faultsAt(place, { checks, ...others })).toHaveLength(1)
})

describe('streams', () => {
  const eventFaults = ({ type, data }: StreamEvent) =>
    faultsAt(answerPlace(contract.streams.events, 200), { event: type, data }, 'text/event-stream')
  const frameFaults = (frame: object) => faultsAt(answerPlace(contract.streams.socket, 101), frame)

  test('carry every kind of the described events and frames', async () => {
    const { ada, ben, conversation } = await world.pair()
    const stream = openEvents(ada)
    const socket = openSocket(ada)
    await Promise.all([stream.opened, socket.opened])
    const toBen = await ada.send(conversation, ben.id, 'hello')
    await ben.send(conversation, ada.id, 'hello too')
    await ben.acknowledge(toBen.id)
    socket.send('{"type":"ping"}')
    // Each message goes to one of the two waits; all other events go to both.
    await Promise.all([stream.take('receipts'), socket.take('receipts'), socket.take('pong')])
    await vi.waitUntil(() => [...stream.events, ...socket.events].some(({ type }) => type === 'messages'))
    passedMs += limits.heartbeatSeconds * 1000
    await Promise.all([stream.take('heartbeat'), socket.take('heartbeat')])
    await ada.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
    expect(await Promise.all([stream.reason(), socket.reason()])).toEqual([
      'session_closed',
      'session_closed',
    ])

    expect(stream.events.flatMap(eventFaults)).toEqual([])
    expect(socket.events.flatMap(({ type, data }) => frameFaults({ type, ...data }))).toEqual([])
    const kinds = [...stream.events, ...socket.events].map(({ type }) => type)
    expect([...new Set(kinds)].sort()).toEqual([
      ...['error', 'heartbeat', 'messages', 'pong', 'ready', 'receipts', 'session'],
    ])
    expect(answerOf(document, contract.streams.socket, 101)?.description).toContain(
      String(await socket.ended),
    )
    expect(frameFaults(authenticate(ben))).toEqual([])
  })

  test('carry nothing that is not described', () => {
    const server_time = '2026-01-01T00:00:00.000Z'
    const heartbeat = { type: 'heartbeat', data: { server_time }, atMs: 0 }
    expect(eventFaults(heartbeat)).toEqual([])
    expect(eventFaults({ ...heartbeat, data: { server_time, secret: 1 } })).not.toEqual([])
    expect(eventFaults({ ...heartbeat, type: 'pong' })).not.toEqual([])
    expect(frameFaults({ type: 'pong', server_time })).toEqual([])
    expect(frameFaults({ type: 'shout', server_time })).not.toEqual([])
  })
})
