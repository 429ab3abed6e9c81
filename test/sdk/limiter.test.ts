import { expect, test } from 'vitest'
import { Limiter } from '../../sdk/parts/limiter.ts'

test('a limited number runs at a time, the others follow in order, and a failure releases its slot', async () => {
  const turns = new Limiter(2)
  const begun: number[] = []
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<number>())
  const acts = ends.map(({ promise }, index) =>
    turns.take(() => {
      begun.push(index)
      return promise
    }),
  )
  const settled = Promise.allSettled(acts)
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await turn()
  expect(begun).toEqual([0, 1])
  ends[1]?.reject(new Error('the disk says no'))
  await turn()
  expect(begun).toEqual([0, 1, 2])
  for (const [index, { resolve }] of ends.entries()) resolve(index)
  expect(await settled).toMatchObject([
    { value: 0 },
    { status: 'rejected' },
    { value: 2 },
    { value: 3 },
    { value: 4 },
  ])
  expect(begun).toEqual([0, 1, 2, 3, 4])
  // All slots are free again.
  expect(await Promise.all([turns.take(async () => 'a'), turns.take(async () => 'b')])).toEqual(['a', 'b'])
})
