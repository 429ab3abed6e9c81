/** What owner commands print: whole lists as one page, and the fields of one thing. */

/** A list that was read to its end, in the shape of a page. */
export const whole = <K extends string, T>(key: K, items: readonly T[]) =>
  ({ [key]: items, has_more: false, next_after: null }) as Record<K, readonly T[]> & {
    readonly has_more: false
    readonly next_after: null
  }

/** One field a line, the values in a column. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n')
}
