/**
 * The figures in docs/api.md are those of the schemas that the server validates with.
 *
 * A rule in words is not generated from the schema, so it may state another number than the schema.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
// Loading the contract names the schemas, so the order of imports does not matter.
import '../../sdk/contract/index.ts'
import { namedSchemas } from '../../sdk/contract/primitives.ts'

const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')

interface Shape {
  readonly type?: string
  readonly format?: string
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly maxLength?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly 'x-max-bytes'?: number
}

/** Returns the row of a field, in the section of its schema. */
function rowOf(schema: string, field: string): string {
  const [, section = ''] = page.split(`\n### ${schema}\n`)
  const [own = ''] = section.split('\n### ', 1)
  return own.split('\n').find((row) => row.startsWith(`| \`${field}\` |`)) ?? ''
}

/**
 * Returns each field that the schema contains itself, with the greatest number of its rule. The type already
 * describes ids and times.
 */
function figures(shape: Shape, prefix = ''): [field: string, greatest: number][] {
  return Object.entries(shape.properties ?? {}).flatMap(([name, field]) =>
    [field, ...(field.anyOf ?? [])].flatMap((each): [string, number][] => {
      const path = `${prefix}${name}`
      const isNamed = each.format === 'uuid' || each.format === 'date-time'
      const bounds = [each.maxLength, each.maximum, each.maxItems, each['x-max-bytes']]
      const own = isNamed ? [] : bounds.filter((bound) => bound !== undefined)
      const items = each.items === undefined ? [] : figures(each.items, `${path}[].`)
      return [...own.map((bound): [string, number] => [path, bound]), ...figures(each, `${path}.`), ...items]
    }),
  )
}

const cases = [...namedSchemas].flatMap(([schema, shape]) =>
  figures(shape as Shape).map(([field, greatest]) => [schema, field, greatest] as const),
)

test('docs/api.md states the maximum length, number and count of each field', () => {
  expect(cases.length).toBeGreaterThan(60)
  const missing = cases.filter(
    ([schema, field, greatest]) => !new RegExp(`(?<![0-9])${greatest}(?![0-9])`).test(rowOf(schema, field)),
  )
  expect(missing).toEqual([])
})

test('a title and a label have 200 characters, a name has 80', () => {
  expect(rowOf('TaskInput', 'title')).toContain('1 to 200 characters')
  expect(rowOf('Evidence', 'label')).toContain('1 to 200 characters')
  expect(rowOf('ProjectInput', 'name')).toContain('1 to 80 characters')
})
