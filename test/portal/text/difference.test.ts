/** The marked difference of two texts on the owner's page. */
import { describe, expect, test } from 'vitest'
import { difference } from '../../../server/portal/page/text/difference.ts'

const signs = { same: ' ', removed: '-', added: '+' } as const

const shown = (before: string, after: string): string =>
  difference(before, after)
    .flatMap(({ kind, lines }) => lines.map((line) => `${signs[kind]}${line}`))
    .join('|')

const cases: readonly (readonly [before: string, after: string, expected: string])[] = [
  ['', '', ' '],
  ['a', 'a', ' a'],
  ['a', 'b', '-a|+b'],
  ['a\nb\nc', 'a\nc', ' a|-b| c'],
  ['a\nc', 'a\nb\nc', ' a|+b| c'],
  ['a\na\na', 'a\na', ' a| a|-a'],
  ['a\nb\nc\nd\ne', 'a\nx\nc\ny\ne', ' a|-b|+x| c|-d|+y| e'],
  ['one', 'one\n\ntwo', ' one|+|+two'],
]

describe('the difference of two texts', () => {
  test.each(cases)('%j and %j is %j', (before, after, expected) =>
    expect(shown(before, after)).toBe(expected),
  )

  test('gives both texts back, however large they are', () => {
    const line = (number: number) => `${(number * 7919) % 13}`
    for (const size of [3, 40, 700, 16_000]) {
      const before = Array.from({ length: size }, (_, at) => line(at)).join('\n')
      const after = Array.from({ length: size }, (_, at) => line(at + (at % 5))).join('\n')
      const pieces = difference(before, after)
      const text = (without: string) =>
        pieces.flatMap(({ kind, lines }) => (kind === without ? [] : lines)).join('\n')
      expect(text('added')).toBe(before)
      expect(text('removed')).toBe(after)
    }
  })
})
