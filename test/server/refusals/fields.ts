/**
 * Every way in which a body can violate its schema, one at a time, derived from a valid body.
 *
 * The schema determines only the violations. The server must show that it refuses them.
 */
import { namedSchemas } from '../../../sdk/contract/primitives.ts'

export interface BadField {
  readonly what: string
  readonly body: unknown
  /** The path of the fault in `details.faults`. */
  readonly path: string
}

/** The part of JSON Schema that is read here. */
export interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minLength?: number
  readonly maxLength?: number
  readonly 'x-max-bytes'?: number
  readonly 'x-well-formed'?: boolean
  readonly 'x-visible'?: boolean
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
}

type Path = readonly (string | number)[]

export function badFields(schema: Schema, good: unknown): BadField[] {
  const make = (what: string, path: Path, value: unknown, faultPath: Path = path): BadField => ({
    what: `${path.join('.') || 'the body'} ${what}`,
    body: replaced(good, path, value),
    path: ['body', ...faultPath].join('/'),
  })
  const walk = (node: Schema, path: Path): BadField[] => {
    const branches = branchesOf(node)
    const free = branches.filter((branch) => branch.const === undefined)
    // If a free text is also allowed, no other word is invalid.
    const words = free.some(({ type }) => type === 'string')
      ? []
      : branches.filter((branch) => !free.includes(branch))
    return [
      ...wrongTypes(branches).map(([what, value]) => make(what, path, value)),
      ...words
        .concat(free)
        .flatMap((branch) => wrongValues(branch, at(good, path)))
        .filter(([, value]) => !branches.some((branch) => branch.const === value))
        .map(([what, value]) => make(what, path, value)),
      ...branches.filter((branch) => fits(branch, at(good, path))).flatMap((branch) => inside(branch, path)),
    ]
  }
  const inside = (branch: Schema, path: Path): BadField[] => {
    if (branch.type === 'array') return walk(branch.items ?? {}, [...path, 0])
    if (branch.type !== 'object') return []
    const missing = branch.required ?? []
    return [
      make('has a field that nobody knows', [...path, 'surplus'], 1),
      ...missing.map((name) => make('is missing', [...path, name], undefined)),
      ...Object.entries(branch.properties ?? {}).flatMap(([name, child]) => walk(child, [...path, name])),
    ]
  }
  return walk(schema, []).filter(({ path }) => path !== 'body')
}

/** Returns the alternatives of a node with references resolved. */
function branchesOf(node: Schema): Schema[] {
  if (node.$ref !== undefined)
    return branchesOf((namedSchemas.get(node.$ref.replace('#', '')) ?? {}) as Schema)
  return node.anyOf ? node.anyOf.flatMap(branchesOf) : [node]
}

/**
 * Whether a branch is the shape of the valid body, if an object has several shapes; an absent object is
 * visited too.
 */
function fits(branch: Schema, good: unknown): boolean {
  if (branch.type !== 'object') return good !== undefined
  return (branch.required ?? []).every((name) => good === undefined || Object.hasOwn(good as object, name))
}

const ofEachType: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['boolean', true],
  ['integer', 7],
  ['number', 1.5],
  ['string', '7'],
  ['array', []],
  ['object', {}],
]

function wrongTypes(branches: readonly Schema[]): [string, unknown][] {
  const types = new Set(branches.map((branch) => branch.type))
  return (
    ofEachType
      // An integer is a number.
      .filter(
        ([type]) =>
          !types.has(type) &&
          !(type === 'integer' && types.has('number')) &&
          !(type === 'string' && types.has('string')),
      )
      .map(([type, value]) => [`of type ${type}`, value])
  )
}

function wrongValues(branch: Schema, good: unknown): [string, unknown][] {
  const words = branch.enum ?? (branch.const === undefined ? [] : [branch.const])
  if (words.length > 0) {
    return [
      ['not one of its values', 'no-such-word'],
      ['in upper case', String(words[0]).toUpperCase()],
      ['with a space', `${words[0]} `],
    ]
  }
  if (branch.type === 'string') return [...wrongLengths(branch), ...wrongTexts(branch)]
  if (branch.type === 'integer') return wrongNumbers(branch)
  if (branch.type === 'array') return wrongLists(branch, good)
  return []
}

/** Lengths are counted in characters, where a four-byte emoji is one; sizes in bytes, where it is four. */
function wrongLengths(branch: Schema): [string, unknown][] {
  const { minLength = 0, maxLength, 'x-max-bytes': maxBytes } = branch
  return [
    ...(minLength > 0 ? [['shorter than it may be', 'a'.repeat(minLength - 1)] as [string, unknown]] : []),
    ...(maxLength === undefined ? [] : tooLong('characters', maxLength + 1, maxLength + 1)),
    ...(maxBytes === undefined ? [] : tooLong('bytes', maxBytes + 1, Math.floor(maxBytes / 4) + 1)),
  ]
}

const tooLong = (unit: string, letters: number, emoji: number): [string, unknown][] => [
  [`longer than its ${unit}, in letters`, 'a'.repeat(letters)],
  [`longer than its ${unit}, in emoji`, '😀'.repeat(emoji)],
]

const oddTexts = [
  '',
  ' lead',
  'trail ',
  'two\nlines',
  'tab\there',
  '\u0000',
  'del\u007f',
  'c1\u0085',
  'a/b',
  'ä',
  'A=',
]
const uuids = ['not-a-uuid', '0189A000-0000-7000-8000-000000000000', '{01890000-0000-7000-8000-000000000000}']
const dates = [
  '2026-02-30T00:00:00.000Z',
  '2026-01-01T24:00:00.000Z',
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.000+00:00',
  '2026-01-01 00:00:00.000Z',
  '2026-01-01',
  '1',
]

const unseen: [string, unknown][] = [
  ['with a change of text direction', 'ada \u202enimda'],
  ['with an invisible character', 'a\u200bda'],
]

function wrongTexts(branch: Schema): [string, unknown][] {
  const breaks = (text: string) => branch.pattern !== undefined && !new RegExp(branch.pattern, 'u').test(text)
  const forms = { uuid: uuids, 'date-time': dates }[branch.format ?? ''] ?? []
  return [
    ...[...oddTexts.filter(breaks), ...forms].map((text): [string, unknown] => [JSON.stringify(text), text]),
    ...(branch['x-well-formed'] ? [['with half a pair', 'half \ud83d'] as [string, unknown]] : []),
    ...(branch['x-visible'] ? unseen : []),
  ]
}

function wrongNumbers({ minimum, maximum }: Schema): [string, unknown][] {
  return [
    ...(minimum === undefined ? [] : [['below its least', minimum - 1] as [string, unknown]]),
    ...(maximum === undefined ? [] : [['above its greatest', maximum + 1] as [string, unknown]]),
  ]
}

function wrongLists({ minItems = 0, maxItems, uniqueItems }: Schema, good: unknown): [string, unknown][] {
  const [first] = good as readonly unknown[]
  const fresh = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`
  return [
    ...(minItems > 0
      ? [['with too few', (good as readonly unknown[]).slice(0, minItems - 1)] as [string, unknown]]
      : []),
    ...(maxItems === undefined
      ? []
      : [
          ['with too many', Array.from({ length: maxItems + 1 }, (_, index) => fresh(index))] as [
            string,
            unknown,
          ],
        ]),
    ...(uniqueItems ? [['with one twice', [first, first]] as [string, unknown]] : []),
  ]
}

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((node, key) => (node as Record<string | number, unknown> | undefined)?.[key], value)

/** Returns a copy with another value at one path; `undefined` removes it. */
function replaced(node: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  if (Array.isArray(node))
    return node.map((item, index) => (index === key ? replaced(item, rest, value) : item))
  const object = (node ?? {}) as Record<string, unknown>
  const changed = replaced(object[key], rest, value)
  if (changed !== undefined) return { ...object, [key]: changed }
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))
}
