/**
 * Strict validation against the contract: nothing is dropped, and no value changes its type.
 *
 * Query parameters are text on the wire, so plain decimal numbers are parsed before validation. Fastify's own
 * validator silently drops unknown fields and coerces types. This one reports every fault with its path.
 *
 * Contract §1.
 */
import type { SchemaValidateFunction } from 'ajv'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
// Imported for its effect: loading the contract names the schemas, and this must not depend on the order of
// imports.
import '../../sdk/contract/index.ts'
import { namedSchemas } from '../../sdk/contract/primitives.ts'
import { hiddenIn } from './visible-characters.ts'

function createAjv(allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors,
    coerceTypes: false,
    removeAdditional: false,
    strictTypes: false,
    strictTuples: false,
    // An error holds the refused value, from which the nearest known words are found.
    verbose: true,
    // Our own schemas are the same at every start; `test/contract` validates them.
    validateSchema: false,
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
    error: { message: 'must not contain half of a surrogate pair' },
    validate: (_on: boolean, text: string) => text.isWellFormed(),
  })
  ajv.addKeyword({
    keyword: 'x-visible',
    type: 'string',
    schemaType: 'boolean',
    errors: true,
    validate: isVisible,
  })
  for (const schema of namedSchemas.values()) ajv.addSchema(schema)
  return ajv
}

/** Ajv reads the error from the `errors` property of the function. */
const isVisible: SchemaValidateFunction = (_on: boolean, text: string) => {
  const hidden = hiddenIn(text)
  const problem = `must not contain ${hidden}, which is a control, bidi or invisible character`
  isVisible.errors = hidden === undefined ? [] : [{ keyword: 'x-visible', message: problem }]
  return hidden === undefined
}

/**
 * Whether a timestamp exists in the calendar. `Date.parse` reads `2026-02-30` as 2 March, so the result is
 * compared with the text.
 */
const isInstant = (text: string) => {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text
}

/**
 * Schemas are compiled on first use and cached for the process, because compiling all of them took more than
 * half of the start-up time. The tests compile each of them.
 */
const validateFirst = compiling(createAjv(false))
const validateAll = compiling(createAjv(true))

function compiling(ajv: Ajv2020): (schema: ObjectSchema) => ValidateFunction {
  const compiled = new Map<string, ValidateFunction>()
  return (schema) => {
    const text = JSON.stringify(schema)
    const validate = compiled.get(text) ?? ajv.compile(schema)
    compiled.set(text, validate)
    return validate
  }
}

export function useContractValidation(app: FastifyInstance): void {
  const compiler: FastifySchemaCompiler<ObjectSchema> = ({ schema, httpPart }) => {
    // The identity layer checks headers on the raw list. Their schemas are documentation only.
    if (httpPart === 'headers') return () => true
    const validate = reportAllIfSmall(schema)
    return httpPart === 'querystring' ? readNumbersFirst(schema, validate) : validate
  }
  app.setValidatorCompiler(compiler)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
}

/**
 * Reports every fault of a body with at most 1000 values, and the first fault of a larger one. Listing a
 * hundred thousand faults takes a hundred times as long as sending them.
 */
function reportAllIfSmall(schema: ObjectSchema): ValidateFunction {
  let first: ValidateFunction | undefined
  let all: ValidateFunction | undefined
  const validate = (value: unknown) => {
    first ??= validateFirst(schema)
    if (first(value)) return true
    validate.errors = first.errors
    if (!isSmall(value)) return false
    all ??= validateAll(schema)
    if (!all(value)) validate.errors = all.errors
    return false
  }
  validate.errors = null as ValidateFunction['errors']
  return validate as ValidateFunction
}

const smallNodes = 1000

function isSmall(value: unknown): boolean {
  const open = [value]
  for (let seen = 0; seen <= smallNodes; seen += 1) {
    if (open.length === 0) return true
    const node = open.pop()
    const inside = typeof node === 'object' && node !== null ? Object.values(node) : []
    if (inside.length > smallNodes) return false
    open.push(...inside)
  }
  return false
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: string }>>
}

/** Digits only: no sign, point, exponent or leading zero, so each number has one spelling. */
const decimal = /^(?:0|[1-9][0-9]{0,15})$/

function readNumbersFirst({ properties = {} }: ObjectSchema, validate: ValidateFunction): ValidateFunction {
  const names = Object.keys(properties).filter((name) => properties[name]?.type === 'integer')
  const read = (query: Record<string, unknown>) => {
    for (const name of names) {
      const text = query[name]
      if (typeof text === 'string' && decimal.test(text)) query[name] = Number(text)
    }
    const valid = validate(query)
    read.errors = validate.errors
    return valid
  }
  read.errors = validate.errors
  return read as ValidateFunction
}
