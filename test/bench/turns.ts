/** Measures both sides of a comparison in turns. */
import type { Measured } from './measured.ts'
import { costing, noCosts, usedBy } from './processor.ts'

const orders = [
  ['floor', 'product'],
  ['product', 'floor'],
] as const

/** Each act does `done` things and returns how many a second. */
export async function inTurns(
  rounds: number,
  sides: Readonly<Record<'product' | 'floor', Measured>>,
  act: (
    side: 'product' | 'floor',
    round: number,
  ) => Promise<{ readonly perSecond: number; readonly done: number }>,
) {
  const rates = { product: [] as number[], floor: [] as number[], costs: noCosts() }
  for (let round = 0; round <= rounds; round += 1) {
    // Work that one side leaves, such as writing to the disk, slows the next one.
    for (const side of round % 2 === 0 ? orders[0] : orders[1]) {
      const { result, cpuMs } = await costing(usedBy(sides[side]), () => act(side, round))
      // The first round warms both up.
      if (round === 0) continue
      rates[side].push(result.perSecond)
      rates.costs[side].push((cpuMs * 1000) / result.done)
    }
  }
  return rates
}
