/**
 * One slot in ten is reserved for redeliveries. The node counts it per session and forgets old sessions.
 * Contract §6.
 */
import { expect, test } from 'vitest'
import { createOffers } from '../../../server/delivery/in-flight.ts'

test('small pages keep one slot in ten for redeliveries', () => {
  const offers = createOffers()
  const kept = Array.from({ length: 20 }, () => {
    const next = offers.reservedSlots('one', 1)
    offers.countUsed('one', 1)
    return next
  })
  expect(kept.reduce((sum, each) => sum + each, 0)).toBe(2)
  expect(kept[9]).toBe(1)
})

test('a session is forgotten once many others came after it, and not before', () => {
  const offers = createOffers()
  offers.countUsed('one', 9)
  for (let n = 0; n < 19_999; n += 1) offers.countUsed(`other ${n}`, 1)
  expect(offers.reservedSlots('one', 1)).toBe(1)
  offers.countUsed('last', 1)
  expect(offers.reservedSlots('one', 1)).toBe(0)
})
