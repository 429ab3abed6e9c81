/**
 * The OpenAPI description, derived from the contract: each entry becomes a Fastify schema, each named schema
 * a component.
 *
 * Spec §9: OpenAPI 3.1.0, description version 1.2.0.
 */
import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Caller, EndpointSpec } from '../../sdk/contract/endpoint.ts'
import { headers } from '../../sdk/contract/headers.ts'
import { contentHashHeader } from '../../sdk/contract/helper/endpoints.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { namedSchemas, Strict } from '../../sdk/contract/primitives.ts'
import { byName, completeAnswers, octets, responsesOf } from './openapi-answers.ts'

export const apiTitle = 'An agent bridge API'
export const apiVersion = '1.2.0'

export async function useOpenapi(app: FastifyInstance): Promise<void> {
  for (const schema of reachable()) app.addSchema(schema)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: apiTitle,
        version: apiVersion,
        description:
          'Agents exchange messages, tasks and files; their owner sees and controls all of it. ' +
          'Every answer carries `X-Content-Type-Options: nosniff`, and all but the file of the client ' +
          '`Cache-Control: no-store`.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          AgentKey: {
            type: 'apiKey',
            in: 'header',
            name: 'Authorization',
            description: 'AgentKey <credential_id>',
          },
          TelemetryToken: { type: 'http', scheme: 'bearer' },
          OwnerSession: { type: 'apiKey', in: 'cookie', name: '__Host-bridge_owner' },
        },
      },
    },
    // A body that is not parsed has no validation schema, so its schema is added to the document only.
    transform: ({ schema, url }) => ({ schema: withBytes(schema), url }),
    transformObject: (described) =>
      completeAnswers('openapiObject' in described ? described.openapiObject : described.swaggerObject),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => `${json.$id ?? `schema${i}`}` },
  })
}

/** Returns the named schemas that endpoints use, directly or through other schemas. */
function reachable(): TSchema[] {
  const found = new Set<string>(['Error'])
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [key, value] of Object.entries(node)) {
      if (key === '$id' && typeof value === 'string') found.add(value)
      else if (key === '$ref' && typeof value === 'string') visit(value.replace('#', ''))
      else walk(value)
    }
  }
  const visit = (name: string) => {
    if (found.has(name)) return
    found.add(name)
    walk(namedSchemas.get(name))
  }
  for (const { params, query, body, response, frame } of endpoints)
    walk({ params, query, body, response, frame })
  return [...found].flatMap((name) => namedSchemas.get(name) ?? [])
}

/** Endpoints without query parameters refuse every parameter. */
const noQuery = Strict({})

export function describeRoute(entry: EndpointSpec): FastifySchema {
  const described = headersOf(entry)
  return {
    operationId: entry.id.replaceAll('.', '_'),
    summary: entry.summary,
    tags: [entry.id.split('.').slice(0, -1).join(' ')],
    security: securityOf(entry.caller),
    ...(entry.params && { params: entry.params }),
    querystring: entry.query ?? noQuery,
    ...(entry.body && { body: byName(entry.body) }),
    ...(described && { headers: described }),
    response: responsesOf(entry),
  } as FastifySchema
}

function securityOf(caller: Caller) {
  if (caller === 'agent' || caller === 'agent-without-session') return [{ AgentKey: [] }]
  if (caller === 'telemetry') return [{ TelemetryToken: [] }]
  return caller === 'owner' ? [{ OwnerSession: [] }] : []
}

/** "Header requirements marked optional in the contract are kept optional for compatibility." Spec §9. */
function headersOf(entry: EndpointSpec): TSchema | undefined {
  const properties: Record<string, TSchema> = {}
  const isAgents = entry.caller === 'agent' || entry.caller === 'agent-without-session'
  if (isAgents) {
    for (const name of [headers.time, headers.nonce, headers.proof]) {
      properties[name] = Type.Optional(Type.String({ description: 'Required for key-bound identities.' }))
    }
  }
  // An enrolment claim sends the device in its body and, byte for byte the same, in the header.
  if (isAgents || 'device' in fieldsOf(entry.body)) {
    properties[headers.device] = Type.Optional(
      Type.String({ maxLength: limits.deviceChars, description: 'Required for device-bound identities.' }),
    )
  }
  if (entry.caller === 'agent') properties[headers.session] = Type.String({ format: 'uuid' })
  if (entry.bytes === 'request') {
    const description = 'SHA-256 of the bytes in lower-case hex. The proof signs it instead of the body.'
    properties[contentHashHeader] = Type.Optional(Type.String({ description, pattern: '^[0-9a-f]{64}$' }))
  }
  if (entry.idempotent) {
    const pattern = '^[A-Za-z0-9_.:-]+$'
    properties[headers.idempotencyKey] = Type.String({ minLength: 8, maxLength: 128, pattern })
  }
  if (entry.caller.startsWith('owner') && entry.method === 'POST') {
    properties[headers.origin] = Type.String({ format: 'uri', description: 'Exactly the portal origin.' })
  }
  return Object.keys(properties).length === 0 ? undefined : Type.Object(properties)
}

const fieldsOf = (schema: TSchema | undefined): object =>
  schema !== undefined && 'properties' in schema ? (schema.properties as object) : {}

const receiving = new Set(
  endpoints.filter(({ bytes }) => bytes === 'request').map(({ id }) => id.replaceAll('.', '_')),
)

const withBytes = (schema: FastifySchema): FastifySchema =>
  receiving.has((schema as { operationId?: string }).operationId ?? '')
    ? { ...schema, body: { content: octets } }
    : schema
