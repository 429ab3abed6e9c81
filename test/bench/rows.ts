/**
 * The rows of a measurement, in one format for every section: figure, floor, ratio, target, and MISSED if the
 * target was missed.
 *
 * A figure counts only beside its floor, measured in the same run and alternately. The medians of the rounds
 * are compared, and the spread shows how reliable they are. A row also has the processor time per request, MB
 * or start of product and floor: rates depend on the machine and its other work, that ratio much less. Rows of
 * memory have none, nor have latencies beside other work of the same node, whose processor time is both.
 */
import type { Costs } from './processor.ts'
import type { Stores } from './rows/stores.ts'

/** One figure and its floor, in the same unit. */
export interface Row {
  readonly figure: string
  readonly unit: string
  /** Medians of the rounds. */
  readonly product: number
  readonly floor: number
  /** `[least..most]` of the rounds, for product and floor. */
  readonly spread: string
  readonly ratio: number
  readonly target: Target
  readonly isMissed: boolean
  /** Medians of the rounds: microseconds of processor time per unit that the figure counts. */
  readonly cpuUs?: { readonly product: number; readonly floor: number | undefined } | undefined
}

/** The values of the rounds of a comparison, in the unit of the figure. */
export interface Rounds {
  readonly product: readonly number[]
  readonly floor: readonly number[]
  readonly costs?: Costs | undefined
  /**
   * Compares the two rates of each round, and the ratio is the median over the rounds. It suits two programs that are
   * nearly equal: the speed of a machine changes within seconds, and both rates of a round change alike.
   */
  readonly isPaired?: boolean
}

/**
 * `at-least`: the product reaches this share of its floor. `at-most`: it costs at most this multiple of its
 * floor.
 */
export type Target = { readonly atLeast: number } | { readonly atMost: number } | 'for comparison'

export interface BenchOptions {
  /** Two minutes for all sections instead of fifteen. */
  readonly isQuick: boolean
  /** Nodes that are filled once for all sections. */
  readonly stores: Stores
}

/**
 * The export of a section's module: rows as they are measured, and sentences about measurements that were not
 * possible.
 */
export type Section = (options: BenchOptions) => AsyncIterable<Row | string>

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Makes a row from the values of the rounds. */
export function row(figure: string, unit: string, rounds: Rounds, target: Target): Row {
  const product = median(rounds.product)
  const floor = median(rounds.floor)
  const ratio = rounds.isPaired ? median(ratiosOf(rounds)) : product / floor
  return {
    figure,
    unit,
    product,
    floor,
    spread: `${spreadOf(rounds.product)} ${spreadOf(rounds.floor)}`,
    ratio,
    target,
    isMissed: misses(ratio, target),
    cpuUs: rounds.costs && costOf(rounds.costs),
  }
}

/** Makes a row for a figure with a fixed bound instead of a floor: `floor` is the bound. */
export function bounded(
  figure: string,
  unit: string,
  values: readonly number[],
  bound: number,
  costs?: Costs,
): Row {
  const product = median(values)
  const ratio = product / bound
  const spread = spreadOf(values)
  return {
    figure,
    unit,
    product,
    floor: bound,
    spread,
    ratio,
    target: { atMost: 1 },
    isMissed: !(ratio <= 1),
    cpuUs: costs && costOf(costs),
  }
}

const ratiosOf = ({ product, floor }: Rounds): number[] =>
  product.map((value, index) => value / (floor[index] ?? Number.NaN))

const costOf = ({ product, floor }: Costs) => ({
  product: median(product),
  floor: floor.length === 0 ? undefined : median(floor),
})

function misses(ratio: number, target: Target): boolean {
  if (target === 'for comparison') return false
  return 'atLeast' in target ? !(ratio >= target.atLeast) : !(ratio <= target.atMost)
}

const spreadOf = (values: readonly number[]): string =>
  `[${short(Math.min(...values))}..${short(Math.max(...values))}]`

const short = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2))

const targetWords = (target: Target): string => {
  if (target === 'for comparison') return ''
  return 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`
}

/** `product/floor = ratio`; only the product if there is no floor. */
const costWords = (cpuUs: Row['cpuUs']): string => {
  if (cpuUs === undefined) return ''
  const { product, floor } = cpuUs
  if (floor === undefined) return product.toFixed(0)
  return `${product.toFixed(0)}/${floor.toFixed(0)} = ${(product / floor).toFixed(2)}`
}

const columns = [
  'figure',
  'product',
  'floor',
  'unit',
  'ratio',
  'target',
  '',
  'cpu us for one',
  'spread: product, floor',
]
const widths = [74, 8, 8, 5, 6, 13, 6, 22, 0]

const line = (cells: readonly string[]): string =>
  cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join(' ')
    .trimEnd()

export const header = (): string => line(columns)

export const rowText = ({
  figure,
  unit,
  product,
  floor,
  ratio,
  target,
  isMissed,
  spread,
  cpuUs,
}: Row): string =>
  line([
    figure,
    short(product),
    short(floor),
    unit,
    ratio.toFixed(2),
    targetWords(target),
    isMissed ? 'MISSED' : '',
    costWords(cpuUs),
    spread,
  ])
