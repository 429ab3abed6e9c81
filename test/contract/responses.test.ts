/**
 * What the description promises is what is sent: each endpoint's good request and its answer, held to the document that
 * the running server gives, by nothing but that document.
 *
 * A field that the document does not declare is a fault, so a leak is one too.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { type EndpointId, endpoints } from '../../sdk/contract/index.ts'
import { closed } from '../server/endpoints/answers.ts'
import type { CaseOf } from '../server/endpoints/case.ts'
import { cases } from '../server/endpoints/cases.ts'
import { send } from '../server/endpoints/send.ts'
import { startWorld, type World } from '../server/endpoints/world.ts'
import type { OpenapiDocument } from './served-document.ts'

let world: World
let ajv: Ajv2020
let document: OpenapiDocument

beforeAll(async () => {
  world = await startWorld()
  document = (await (await fetch(`${world.bridge.url}/api/openapi`)).json()) as OpenapiDocument
  ajv = new Ajv2020({ allErrors: true, strict: false, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(closed(document) as object, 'document')
})
afterAll(() => world.close())

const pointer = (...parts: readonly string[]) =>
  parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')

/** What is wrong with a value by the schema at a place of the document. */
function faultsAt(place: readonly string[], value: unknown): string[] {
  const validate = ajv.compile({
    $ref: `document#/${pointer(...place, 'content', 'application/json', 'schema')}`,
  })
  validate(value)
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  )
}

/** The one type of content that an answer of bytes is declared to have. */
function bytesAt({ path, method }: EndpointSpec): string | undefined {
  const declared = document.paths[path]?.[method.toLowerCase()]?.responses['200']?.content ?? {}
  return Object.keys(declared).join()
}

describe.each(endpoints.filter(({ stream }) => !stream).map((entry) => ({ id: entry.id, entry })))(
  '$id',
  ({ id, entry }) => {
    const place = ['paths', entry.path, entry.method.toLowerCase()]

    test('takes what is described, and answers and refuses as described', async () => {
      const ready = await (cases[id as EndpointId] as CaseOf<never>).success(world)
      if (entry.body) expect(faultsAt([...place, 'requestBody'], ready.body)).toEqual([])

      const refused = await send(entry, { ...ready, query: '?surplus=1' })
      expect(refused.status, refused.text).toBe(422)
      expect(faultsAt([...place, 'responses', '422'], refused.json)).toEqual([])

      const answered = await send(entry, ready)
      expect(answered.status, answered.text).toBe(200)
      if (entry.bytes === 'response') expect(answered.headers['content-type']).toBe(bytesAt(entry))
      else expect(faultsAt([...place, 'responses', '200'], answered.json)).toEqual([])
    })
  },
)

test('a field too many, or one too few, is seen', () => {
  const place = ['paths', '/api/ready', 'get', 'responses', '200']
  const checks = { auth: true, envelope_key: true, migrations: true, database: true, storage: true }
  expect(faultsAt(place, { ready: true, checks })).toEqual([])
  expect(faultsAt(place, { ready: true, checks: { ...checks, secret: 1 } })).toHaveLength(1)
  expect(faultsAt(place, { checks })).toHaveLength(1)
})
