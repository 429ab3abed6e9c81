/**
 * Merges equal statements: one statement that does for many sets of parameters what each would do alone.
 *
 * - A select becomes a join of the parameters with the select as it is, for each of them.
 * - An insert of one row becomes an insert of many.
 * - An update becomes an update of the rows of all of them. Two of them must not change the same row.
 *
 * An array of each parameter travels, so its type must be known. PostgreSQL tells the types of the statements
 * that a connection has prepared.
 */
import type { PostgresConnection, Statement } from './connection.ts'
import { toStored } from './text.ts'

/** Number of the set of parameters that a row of the answer belongs to, from 1. */
export const setColumn = 'bridge_set'

const select = /^select [^']*$/
const lockingOrSet = new RegExp(`\\bfor (?:update|share|no key)\\b|\\b${setColumn}\\b`)
const insert = /^insert into ("\w+" \([^()']*\)) values \(([^()']*)\)$/
const update = /^update ("\w+" set [^']*?) where ((?:(?! where | returning )[^'])*)$/

/** Returns whether statements with this text can be merged. */
export const canMerge = (text: string): boolean =>
  insert.test(text) || update.test(text) || (select.test(text) && !lockingOrSet.test(text))

/** Returns the text of the merged statement, whose parameters are arrays of these types. */
export function mergedText(text: string, types: readonly string[]): string {
  const places = types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')
  const names = types.map((_, index) => `p${index + 1}`).join(', ')
  const sets = `unnest(${places}) WITH ORDINALITY AS bridge (${names}, ${setColumn})`
  const inner = text.replace(/\$(\d+)/g, 'bridge.p$1')
  const [, target, values] = insert.exec(inner) ?? []
  if (target !== undefined) return `INSERT INTO ${target} SELECT ${values} FROM ${sets}`
  const [, change, condition] = update.exec(inner) ?? []
  if (change !== undefined)
    return `UPDATE ${change} FROM ${sets} WHERE ${condition} RETURNING bridge.${setColumn}`
  return `SELECT bridge.${setColumn}, one.* FROM ${sets} CROSS JOIN LATERAL (${inner}) AS one`
}

/** The types of the parameters of prepared statements, by name. */
export class MergedStatements {
  readonly #texts = new Map<string, string>()
  readonly #wanted = new Set<string>()

  /**
   * Returns one statement for all of these, which have the same name. Undefined while the types of their
   * parameters are not known.
   */
  merge(statements: readonly Statement[]): Statement | undefined {
    const [first] = statements
    if (first?.name === undefined || !canMerge(first.text)) return undefined
    const text = this.#texts.get(first.name)
    if (text === undefined) {
      this.#wanted.add(first.name)
      return undefined
    }
    const count = first.values?.length ?? 0
    const values = Array.from({ length: count }, (_, place) =>
      statements.map(({ values: given }) => storedOf(given?.[place])),
    )
    return { name: `m${first.name}`, text, values }
  }

  /** Reads the types of statements that could have been merged. Called between transactions. */
  async learn(connection: PostgresConnection): Promise<void> {
    if (this.#wanted.size === 0) return
    const { rows } = await connection.query<{ name: string; statement: string; types: string[] }>({
      text: `SELECT name, statement, parameter_types::text[] AS types FROM pg_prepared_statements
        WHERE name = ANY ($1)`,
      values: [[...this.#wanted]],
    })
    this.#wanted.clear()
    for (const { name, statement, types } of rows)
      if (types.length > 0) this.#texts.set(name, mergedText(statement, types))
  }
}

const storedOf = (value: unknown): unknown => (typeof value === 'string' ? toStored(value) : value)
