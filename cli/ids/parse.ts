/** Parsers of the options and arguments of a command that take ids. */
import { invalid } from '../command.ts'
import { ending, wholeId } from './kinds.ts'

/**
 * Parses an id (UUID), `last`, or the end of an id. Upper case is accepted and becomes lower case, as the API
 * writes it. `typed.ts` replaces the short forms by the whole id before the command runs.
 */
export function id(text: string): string {
  const lower = text.toLowerCase()
  if (lower === 'last' || wholeId.test(lower) || ending.test(lower)) return lower
  throw invalid('It must be an id (a UUID), at least 6 characters of its end, or "last".')
}

/** Parses the next id of a variadic argument. */
export const ids = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  id(text),
]
