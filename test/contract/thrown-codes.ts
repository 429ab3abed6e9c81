/**
 * The error codes that the server's source throws.
 *
 * A code counts if it becomes an ApiError: as its argument, as the `code` of a named check, in a table of
 * faults, or as the outcome of a rule. Comparing with a code throws nothing.
 */
const places: readonly RegExp[] = [
  // new ApiError('code', …), also new ApiError(condition ? 'one' : 'other')
  /\bnew ApiError\(([^,)]*)/g,
  // { code: 'code' } of the verifier's checks
  /\bcode: ('[a-z_]+')/g,
  // const sessionErrors = { fenced: 'session_fenced' }
  /\bconst \w*Errors\b[^=]*= \{([^}]*)\}/g,
  // proofHeader and similar functions return such a check; rules return such an outcome
  /\breturn ([^\n]*)/g,
]

const literal = /(===|!==)?\s*'([a-z_]+)'/g

/** Returns the quoted words at such places, in source without comments. */
export function wordsAtFaults(source: string): Set<string> {
  const found = new Set<string>()
  const plain = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  for (const place of places) {
    for (const [, part = ''] of plain.matchAll(place)) {
      for (const [, compared, word = ''] of part.matchAll(literal)) if (!compared) found.add(word)
    }
  }
  return found
}

/** Returns the words that are the only argument of an ApiError: each must be a code. */
export const faultArguments = (source: string): string[] =>
  [...source.matchAll(/\bnew ApiError\(\s*'([a-z_]+)'/g)].map(([, word = '']) => word)
