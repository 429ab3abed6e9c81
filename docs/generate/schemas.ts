/** Writes a JSON Schema of the contract as a table: each field with its type and its rules. */
import type { TSchema } from 'typebox'
import { Name, Timestamp, Uuid } from '../../sdk/contract/primitives.ts'
import { capital, code, link, stopped, table } from './markdown.ts'

/** The keywords of JSON Schema that the contract uses. */
interface Shape {
  readonly $ref?: string
  readonly type?: string
  readonly const?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly patternProperties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly 'x-max-bytes'?: number
}

interface Words {
  readonly type: string
  rule(shape: Shape): string
}

/** Names of known patterns. A line and a name have the same pattern and differ in length. */
const words = new Map<string | undefined, Words>([
  [(Uuid as Shape).pattern, { type: 'uuid', rule: () => '' }],
  [(Timestamp as Shape).pattern, { type: 'timestamp', rule: () => '' }],
  [
    (Name as Shape).pattern,
    {
      type: 'text',
      rule: ({ minLength, maxLength }) =>
        `one line of ${range(minLength, maxLength, ' characters')}, no space at either end`,
    },
  ],
])

/**
 * Returns a table of the fields of an object, and a sentence for any other schema. `file` is the page of the
 * named schemas.
 */
export function describe(schema: TSchema, file = ''): string {
  const shape = schema as Shape
  const objects = shape.anyOf?.filter((each) => each.properties !== undefined) ?? []
  if (objects.length > 1) return objects.map((each) => fields(each, file)).join('\n\nor\n\n')
  return shape.properties === undefined ? sentencesOf(shape, file) : fields(shape, file)
}

function fields(shape: Shape, file: string): string {
  const rows = rowsOf(shape, '', file)
  return rows.length === 0 ? 'An object without fields: `{}`.' : table(['field', 'value'], rows)
}

function rowsOf(shape: Shape, prefix: string, file: string): string[][] {
  return Object.entries(shape.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const isOptional = shape.required?.includes(name) !== true
    const inner = objectIn(field)
    const below = inner === undefined ? [] : rowsOf(inner, `${path}${field.items ? '[]' : ''}.`, file)
    return [[code(path), sentencesOf(field, file, isOptional)], ...below]
  })
}

/** Returns the type and the rules as sentences: `Integer, optional. 1 to 100, default 50.` */
const sentencesOf = (shape: Shape, file: string, isOptional = false): string =>
  [`${typeOf(shape, file)}${isOptional ? ', optional' : ''}`, ...rulesOf(shape)]
    .map((sentence) => stopped(capital(sentence)))
    .join(' ')

/** Returns the unnamed object schema of a field, of its items or of its alternatives. */
const objectIn = (field: Shape): Shape | undefined =>
  [field, field.items, ...(field.anyOf ?? [])].find((each) => each?.properties !== undefined)

function typeOf(shape: Shape, file: string): string {
  if (shape.$ref !== undefined) return named(shape.$ref.replace('#', ''), file)
  if (shape.const !== undefined) return code(shape.const)
  if (shape.enum !== undefined) return 'one of the codes in [errors.md](errors.md)'
  if (shape.anyOf !== undefined) return alternatives(shape.anyOf.flatMap(flat), file)
  if (shape.type === 'array') return `array of ${shape.items ? typeOf(shape.items, file) : 'anything'}`
  if (shape.type === 'object') return mapOf(shape, file)
  if (shape.type === 'string') return words.get(shape.pattern)?.type ?? 'text'
  if (shape.type === 'null') return 'null'
  return shape.type ?? 'anything'
}

const named = (name: string, file: string): string => link(name, file, name)

const flat = (shape: Shape): readonly Shape[] => shape.anyOf?.flatMap(flat) ?? [shape]

function alternatives(shapes: readonly Shape[], file: string): string {
  const texts = shapes.map((each) => typeOf(each, file))
  return texts.length === 1 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1) ?? ''}`
}

function mapOf(shape: Shape, file: string): string {
  const [value] = Object.values(shape.patternProperties ?? {})
  if (value === undefined || Object.keys(value).length === 0) return 'object'
  return `object of ${typeOf(value, file)} by name`
}

/** Returns the bounds and the default of a value, those of its alternatives, and its description. */
function rulesOf(shape: Shape): string[] {
  const known = words.get(shape.pattern)
  const fallback = shape.default === undefined ? '' : `default ${String(shape.default)}`
  const bounds = [known ? known.rule(shape) : ownRules(shape), fallback].filter((part) => part !== '')
  const inner = shape.anyOf?.flatMap(rulesOf) ?? []
  return [bounds.join(', '), ...inner, shape.description ?? ''].filter((part) => part !== '')
}

function ownRules(shape: Shape): string {
  const bytes = shape['x-max-bytes']
  return [
    range(shape.minimum, shape.maximum, ''),
    bytes === undefined ? range(shape.minLength, shape.maxLength, ' characters') : '',
    bytes === undefined ? '' : `at most ${bytes} bytes of UTF-8${shape.minLength ? ', not empty' : ''}`,
    range(shape.minItems, shape.maxItems, ' items'),
    shape.uniqueItems ? 'no item twice' : '',
    shape.pattern === undefined || shape.const !== undefined ? '' : code(shape.pattern),
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function range(from: number | undefined, to: number | undefined, unit: string): string {
  if (from === undefined && to === undefined) return ''
  if (to === undefined) return from === 0 ? '' : `at least ${from}${unit}`
  if (from === undefined || from === to) return `${from === to ? '' : 'at most '}${to}${unit}`
  return `${from} to ${to}${unit}`
}
