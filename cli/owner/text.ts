/** Output that the owner commands share: whole lists as one page, and the fields of one object. */

/** Wraps a complete list in the shape of a page. */
export const whole = <K extends string, T>(key: K, items: readonly T[]) =>
  ({ [key]: items, has_more: false, next_after: null }) as Record<K, readonly T[]> & {
    readonly has_more: false
    readonly next_after: null
  }

/** Formats one field per line, with the values in one column. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n')
}
