/** Comparison of a stored row with the fields that a request gives. */

/** Returns the given fields whose value differs from the row's. An absent field is no change. */
export function changedFields<R extends object, F extends keyof R>(
  row: R,
  given: { readonly [K in F]?: R[K] | undefined },
): Partial<Pick<R, F>> {
  const changed = Object.entries(given).filter(
    ([name, value]) => value !== undefined && value !== row[name as F],
  )
  return Object.fromEntries(changed) as Partial<Pick<R, F>>
}
