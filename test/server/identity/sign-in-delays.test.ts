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
  const left = async (key: string): Promise<number> => {
    try {
      await made.require(key)
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

test('four mistakes are free, then each doubles the delay up to five minutes', async () => {
  const { failed, left, pass } = delays()
  const waits = []
  for (let failure = 1; failure <= 16; failure += 1) {
    await failed('olu')
    const wait = await left('olu')
    waits.push(wait / 1000)
    pass(wait)
    expect(await left('olu')).toBe(0)
  }
  expect(waits).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
})

test('a delay expires, and other names are not delayed', async () => {
  const { failed, left, pass } = delays()
  for (let failure = 0; failure < 6; failure += 1) await failed('olu')
  expect(await left('olu')).toBe(2000)
  expect(await left('Olu')).toBe(0)
  pass(1999)
  expect(await left('olu')).toBe(1)
  pass(1)
  expect(await left('olu')).toBe(0)
})

test('a correct password resets the count', async () => {
  const { failed, succeeded, left } = delays()
  for (let failure = 0; failure < 9; failure += 1) await failed('olu')
  await succeeded('olu')
  expect(await left('olu')).toBe(0)
  for (let failure = 0; failure < 4; failure += 1) await failed('olu')
  expect(await left('olu')).toBe(0)
})

test('guesses under ten thousand names evict the oldest names, not the name under attack', async () => {
  const { failed, left } = delays()
  for (let failure = 0; failure < 5; failure += 1) await failed('first')
  for (let n = 0; n < 10_000; n += 1) {
    await failed(`name ${n}`)
    if (n % 5000 === 0) await failed('olu')
  }
  for (let failure = 0; failure < 3; failure += 1) await failed('olu')
  expect(await left('first')).toBe(0)
  expect(await left('olu')).toBe(1000)
})
