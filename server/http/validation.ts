/**
 * Validation against the contract: strict for bodies, coercing for parameters and queries, which are text on the wire.
 *
 * Fastify's own validator drops unknown fields and coerces body types in silence; ours reports every fault by path.
 *
 * Contract §1.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { namedSchemas } from '../../sdk/contract/primitives.ts'

function createAjv(coerceTypes: boolean) {
  const ajv = new Ajv2020({
    allErrors: true,
    coerceTypes,
    removeAdditional: false,
    useDefaults: coerceTypes,
    strictTypes: false,
    strictTuples: false,
  })
  addFormats.default(ajv, ['uuid'])
  ajv.addFormat('date-time', (text: string) => isInstant(text))
  ajv.addKeyword({
    keyword: 'x-max-bytes',
    type: 'string',
    schemaType: 'number',
    error: { message: ({ schema }) => `must not be longer than ${schema} bytes of UTF-8` },
    validate: (limit: number, text: string) => Buffer.byteLength(text) <= limit,
  })
  ajv.addKeyword({
    keyword: 'x-well-formed',
    type: 'string',
    schemaType: 'boolean',
    error: { message: 'must not hold half of a surrogate pair' },
    validate: (_on: boolean, text: string) => text.isWellFormed(),
  })
  for (const schema of namedSchemas.values()) ajv.addSchema(schema)
  return ajv
}

/** A timestamp that the calendar has: `2026-02-30` parses as 2 March, so the text is compared with what it parses to. */
const isInstant = (text: string) => {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text
}

export function useContractValidation(app: FastifyInstance): void {
  const strict = createAjv(false)
  const coercing = createAjv(true)
  const compiler: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
    // Headers are judged on the raw list by the identity layer; their schemas only describe.
    if (httpPart === 'headers') return () => true
    return (httpPart === 'body' ? strict : coercing).compile(schema)
  }
  app.setValidatorCompiler(compiler)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
}
