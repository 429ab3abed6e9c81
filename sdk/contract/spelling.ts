/**
 * Spelling of words in messages: the known words that a mistyped word may stand for, and words quoted for a shell.
 * Pure, so server, SDK and command line share it.
 */

/** A longer word is not compared, because the cost grows with the product of both lengths. */
const comparedLength = 64
const maxDistance = 2

/**
 * Returns up to `most` words, the nearest first: those with the smallest edit distance, at most two. If there are none,
 * those that share a part with the typed word, as `session.ended` shares `session` with `session.fenced`.
 */
export function similarWords(typed: string, words: readonly string[], most = 3): string[] {
  if (typed.length > comparedLength) return []
  const ranked = words
    .map((word) => ({ word, distance: editDistance(typed, word) }))
    .sort((one, other) => one.distance - other.distance)
  const smallest = ranked[0]?.distance ?? maxDistance + 1
  const isNear = smallest <= maxDistance && smallest < typed.length / 2
  const parts = typed.split('.')
  const fits = ({ word, distance }: { readonly word: string; readonly distance: number }) =>
    isNear ? distance === smallest : word.split('.').some((part) => parts.includes(part))
  return ranked
    .filter(fits)
    .slice(0, most)
    .map(({ word }) => word)
}

/** Edit distance: counts letters that are missing, extra, wrong or swapped with their neighbour. */
export function editDistance(typed: string, name: string): number {
  const rows = [Array.from({ length: name.length + 1 }, (_, at) => at)]
  const cost = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= typed.length; row += 1) {
    rows[row] = [row]
    for (let column = 1; column <= name.length; column += 1) {
      const isSame = typed[row - 1] === name[column - 1]
      const isSwapped = typed[row - 1] === name[column - 2] && typed[row - 2] === name[column - 1]
      const found = Math.min(
        cost(row - 1, column) + 1,
        cost(row, column - 1) + 1,
        cost(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? cost(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
      rows[row]?.push(found)
    }
  }
  return cost(typed.length, name.length)
}

/** Quotes a word for a POSIX shell, if needed. */
export const shellWord = (word: string): string =>
  /^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
