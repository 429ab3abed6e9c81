/**
 * Delays after wrong passwords: how they grow, end and are forgotten, with a clock that the test moves.
 * Contract §10 "Sign-in".
 */
import { expect, test } from 'vitest'
import { ApiError } from '../../../server/api-error.ts'
import { createSignInDelays } from '../../../server/identity/sign-in-delays.ts'

function delays() {
  let now = 0
  const made = createSignInDelays(() => now)
  const left = (key: string): number => {
    try {
      made.require(key)
      return 0
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'rate_limited') throw error
      return error.retryAfterMs ?? Number.NaN
    }
  }
  return {
    ...made,
    left,
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('four mistakes are free, then each doubles the delay up to five minutes', () => {
  const { failed, left, pass } = delays()
  const waits = []
  for (let failure = 1; failure <= 16; failure += 1) {
    failed('olu')
    const wait = left('olu')
    waits.push(wait / 1000)
    pass(wait)
    expect(left('olu')).toBe(0)
  }
  expect(waits).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
})

test('a delay expires, and other names are not delayed', () => {
  const { failed, left, pass } = delays()
  for (let failure = 0; failure < 6; failure += 1) failed('olu')
  expect(left('olu')).toBe(2000)
  expect(left('Olu')).toBe(0)
  pass(1999)
  expect(left('olu')).toBe(1)
  pass(1)
  expect(left('olu')).toBe(0)
})

test('a correct password resets the count', () => {
  const { failed, succeeded, left } = delays()
  for (let failure = 0; failure < 9; failure += 1) failed('olu')
  succeeded('olu')
  expect(left('olu')).toBe(0)
  for (let failure = 0; failure < 4; failure += 1) failed('olu')
  expect(left('olu')).toBe(0)
})

test('guesses under ten thousand names evict the oldest names, not the name under attack', () => {
  const { failed, left } = delays()
  for (let failure = 0; failure < 5; failure += 1) failed('first')
  for (let n = 0; n < 10_000; n += 1) {
    failed(`name ${n}`)
    if (n % 5000 === 0) failed('olu')
  }
  for (let failure = 0; failure < 3; failure += 1) failed('olu')
  expect(left('first')).toBe(0)
  expect(left('olu')).toBe(1000)
})
