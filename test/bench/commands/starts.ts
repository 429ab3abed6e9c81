/** The time from start to exit of a program, beside that of its floor. */
import { spawnSync } from 'node:child_process'
import { childrenMs, noCosts } from '../processor.ts'
import { median } from '../rows.ts'

export type Environment = Readonly<Record<string, string>>

export interface Repeats {
  readonly rounds: number
  readonly runs: number
  /** Called before each run of the product, outside the measured time. */
  readonly before?: (() => void) | undefined
}

/** Alternates the runs of product and floor; each round gives its median. */
export function compare(
  { rounds, runs, before = () => {} }: Repeats,
  floor: readonly string[],
  product: readonly string[],
  environment: Environment = {},
  input = '',
) {
  const found = { floor: [] as number[], product: [] as number[], costs: noCosts() }
  for (let round = 0; round < rounds; round += 1) {
    const took = { floor: [] as number[], product: [] as number[] }
    const usedMs = { floor: 0, product: 0 }
    for (let run = 0; run < runs; run += 1) {
      for (const side of ['floor', 'product'] as const) {
        if (side === 'product') before()
        const usedBefore = childrenMs()
        took[side].push(msOf(side === 'floor' ? floor : product, environment, input))
        usedMs[side] += childrenMs() - usedBefore
      }
    }
    for (const side of ['floor', 'product'] as const) {
      found[side].push(median(took[side]))
      found.costs[side].push((usedMs[side] * 1000) / runs)
    }
  }
  return found
}

export function msOf(args: readonly string[], environment: Environment, input = ''): number {
  const began = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
    input,
  })
  const ms = performance.now() - began
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  return ms
}
