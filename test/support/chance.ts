/**
 * Random numbers from a seed, so that a failed run can be repeated. The moments at which processes are killed
 * still depend on the machine.
 */
export type Chance = () => number

/** Returns numbers from 0 up to 1 (mulberry32). */
export function chanceFrom(seed: number): Chance {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const pick = <T>(chance: Chance, all: readonly T[]): T | undefined =>
  all[Math.floor(chance() * all.length)]
