/** A small line of numbers over time, with its meaning in words. */

export interface Point {
  /** Milliseconds. */
  readonly at: number
  /** From 0 to 1. */
  readonly value: number
}

interface Props {
  readonly points: readonly Point[]
  readonly from: number
  readonly to: number
  /** A longer time between two points leaves a gap in the line. */
  readonly gapMs: number
  /** Text in place of the line, for a reader who does not see it. */
  readonly words: string
}

const width = 240
const height = 40

export function Spark({ points, from, to, gapMs, words }: Props) {
  const x = (at: number) => ((at - from) / Math.max(1, to - from)) * width
  const y = (value: number) => height - 1 - value * (height - 2)
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words}
    >
      {linesOf(points, gapMs).map((line) => (
        <polyline
          key={line[0]?.at}
          points={line.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ')}
        />
      ))}
    </svg>
  )
}

function linesOf(points: readonly Point[], gapMs: number): Point[][] {
  const lines: Point[][] = []
  for (const point of points) {
    const line = lines.at(-1)
    const last = line?.at(-1)
    if (line === undefined || last === undefined || point.at - last.at > gapMs) lines.push([point])
    else line.push(point)
  }
  // A line of one point would not be drawn.
  return lines.map((line) => (line.length === 1 ? [...line, ...line.map(beside)] : line))
}

const beside = ({ at, value }: Point): Point => ({ at: at + 60_000, value })
