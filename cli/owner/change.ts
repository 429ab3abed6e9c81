/** Fields of a change, as the options of a command give them. */
import { CommandError } from '../exit-codes.ts'

/** Returns the fields that were given. @throws CommandError if there is none */
export function givenFields<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  if (given.length === 0)
    throw new CommandError('usage', 'nothing to change: no option names a new value', {
      hint: '--help lists the options',
    })
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
