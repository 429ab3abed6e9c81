/**
 * No pattern of the contract takes longer on a hostile text than on an honest one.
 *
 * A pattern with nested quantifiers blocks the process for seconds on thirty characters; these tests use as
 * many as a body may contain. Design: reliability T41.
 */
import { expect, test } from 'vitest'
import { headerRules } from '../../../sdk/contract/headers.ts'
import { endpoints } from '../../../sdk/contract/index.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import { namedSchemas } from '../../../sdk/contract/primitives.ts'

function patternsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'pattern' && typeof value === 'string' ? [value] : patternsIn(value),
  )
}

const schemas = [
  ...namedSchemas.values(),
  ...endpoints.flatMap(({ params, query, body }) => [params, query, body]),
]
const patterns = [
  ...new Set([...patternsIn(schemas), ...Object.values(headerRules).map(({ source }) => source)]),
]

const units = [
  'a',
  'A',
  '0',
  '-',
  '_',
  ' ',
  '.',
  'a ',
  'a-',
  '0a',
  '\u0000',
  'ä',
  '😀',
  'AgentKey ',
  '2026-01-01',
]
const ends = ['', '!', ' ', '\n', '\u0000', '\ud800']
/** Processor time, which other processes of the machine do not affect. */
const budgetMs = 200

test('the contract has patterns to test', () => {
  expect(patterns.length).toBeGreaterThan(5)
})

test.each(patterns)('the pattern %s is fast', (source) => {
  const pattern = new RegExp(source, 'u')
  for (const unit of units) {
    const text = unit.repeat(limits.jsonBodyBytes / unit.length)
    for (const end of ends) {
      const started = process.cpuUsage()
      pattern.test(`${text}${end}`)
      expect(process.cpuUsage(started).user / 1000, JSON.stringify(unit + end)).toBeLessThan(budgetMs)
    }
  }
})
