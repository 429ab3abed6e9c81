/** No cut of a text leaves half of a character, and none is longer than it may be. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endOf, startOf, withinBytes } from '../../sdk/plain-text.ts'

const texts = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\ufeff', '\ud83d', '\ude00') })
const whole = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\ufeff') })

test('a cut is well-formed and within its limit', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 4, max: 20 }), (text, limit) => {
      for (const cut of [startOf(text, limit), endOf(text, limit)])
        expect([cut.isWellFormed(), cut.length <= limit]).toEqual([true, true])
      const cut = withinBytes(text, limit)
      expect([cut.isWellFormed(), Buffer.byteLength(cut) <= limit]).toEqual([true, true])
    }),
  )
})

test('a cut is the beginning or the end of the text, less one half of a pair at most', () => {
  fc.assert(
    fc.property(whole, fc.integer({ min: 4, max: 20 }), (text, limit) => {
      const [start, end] = [startOf(text, limit), endOf(text, limit)]
      const least = Math.min(text.length, limit - 1)
      expect([text.startsWith(start), start.length >= least]).toEqual([true, true])
      expect([text.endsWith(end), end.length >= least]).toEqual([true, true])
      expect(text.startsWith(withinBytes(text, limit).replace(/ …$/, ''))).toBe(true)
    }),
  )
})
