/**
 * Validation against the contract, strict everywhere: nothing is dropped, and nothing becomes another type.
 *
 * A query is text on the wire, so its numbers are read before it is judged: plain decimal ones and no others. Fastify's
 * own validator drops unknown fields and coerces types in silence; ours reports every fault by path.
 *
 * Contract §1.
 */
import type { SchemaValidateFunction } from 'ajv'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
// Whatever is imported first: the schemas get their names when the contract is loaded.
import '../../sdk/contract/index.ts'
import { namedSchemas } from '../../sdk/contract/primitives.ts'
import { hiddenIn } from './visible.ts'

function createAjv(allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors,
    coerceTypes: false,
    removeAdditional: false,
    strictTypes: false,
    strictTuples: false,
    // Our own, and the same at every start: `test/contract` judges them.
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
    error: { message: 'must not hold half of a surrogate pair' },
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

/** Ajv reads the reason from the function itself. */
const isVisible: SchemaValidateFunction = (_on: boolean, text: string) => {
  const hidden = hiddenIn(text)
  const problem = `must not hold ${hidden}, which is a control, bidi or invisible character`
  isVisible.errors = hidden === undefined ? [] : [{ keyword: 'x-visible', message: problem }]
  return hidden === undefined
}

/** A timestamp that the calendar has: `2026-02-30` parses as 2 March, so the text is compared with what it parses to. */
const isInstant = (text: string) => {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text
}

/**
 * Each schema is compiled once a process, when it is first needed: compiling was more than half of a start. That each is
 * one that can be compiled is what tests are for.
 */
const tellsFirst = compiling(createAjv(false))
const tellsAll = compiling(createAjv(true))

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
    // Headers are judged on the raw list by the identity layer; their schemas only describe.
    if (httpPart === 'headers') return () => true
    const validate = thoroughIfSmall(schema)
    return httpPart === 'querystring' ? readNumbersFirst(schema, validate) : validate
  }
  app.setValidatorCompiler(compiler)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
}

/**
 * Every fault of a body that a person could have written, the first of any other: listing a hundred thousand costs a
 * hundred times what it costs to send them.
 */
function thoroughIfSmall(schema: ObjectSchema): ValidateFunction {
  let first: ValidateFunction | undefined
  let all: ValidateFunction | undefined
  const validate = (value: unknown) => {
    first ??= tellsFirst(schema)
    if (first(value)) return true
    validate.errors = first.errors
    if (!isSmall(value)) return false
    all ??= tellsAll(schema)
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

/** No sign, no point, no exponent, no leading zero: a number has one spelling. */
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
