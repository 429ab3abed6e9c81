/**
 * Merges equal statements: one statement that does for many sets of parameters what each would do alone.
 *
 * - A select becomes a join of the parameters with the select as it is, for each of them.
 * - An insert of one row becomes an insert of many.
 * - An update of a row by its key becomes an update of the rows of all of them. If several set the same row
 *   to given values, the last one applies. If several change the same row in another way, they are not
 *   merged.
 *
 * An array of each parameter travels, so its type must be known. PostgreSQL tells the types of the statements
 * that a connection has prepared.
 */
import type { PostgresConnection, Statement } from './connection.ts'
import { toStored } from './text.ts'

/** Number of the set of parameters that a row of the answer belongs to, from 1. */
export const setColumn = 'bridge_set'

/** Words in quotation marks may not look like parameters, because those are replaced in the text. */
const select = /^select (?:[^']|'[^'$]*')*$/
const lockingOrSet = new RegExp(`\\bfor (?:update|share|no key)\\b|\\b${setColumn}\\b`)
const insert =
  /^insert into ("\w+" \(([^()']*)\)) values \(([^()']*)\)( on conflict \(("\w+")\) do update set [^']*)?$/
const update = /^update ("\w+" set [^']*?) where ("?\w+"? = \$(\d+)(?:(?! where | returning )[^'])*)$/
/** Changes that say the same after another change of the row. */
const sets = / set (?:"\w+" = (?:\$\d+|"excluded"\."\w+")(?:, |$))+$/
const oneKey = /^"?\w+"? = \$\d+$/

interface Form {
  /**
   * Place of the parameter that names the changed row. Undefined if no two statements can change the same
   * one.
   */
  readonly key?: number | undefined
  /** Whether the last of several statements for one row makes the others unnecessary. */
  readonly lastApplies?: boolean
}

/** Returns undefined if statements with this text cannot be merged. */
export function formOf(text: string): Form | undefined {
  const [, , columns = '', values = '', conflict, key] = insert.exec(text) ?? []
  if (conflict !== undefined) {
    const place = values.split(', ')[columns.split(', ').indexOf(key ?? '')]
    return place?.startsWith('$') && sets.test(conflict)
      ? { key: Number(place.slice(1)) - 1, lastApplies: true }
      : undefined
  }
  if (columns !== '') return {}
  const [, change, condition = '', place] = update.exec(text) ?? []
  if (change !== undefined)
    return { key: Number(place) - 1, lastApplies: sets.test(change) && oneKey.test(condition) }
  return select.test(text) && !lockingOrSet.test(text) ? {} : undefined
}

/** Returns the text of the merged statement, whose parameters are arrays of these types. */
export function mergedText(text: string, types: readonly string[]): string {
  const places = types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')
  const names = types.map((_, index) => `p${index + 1}`).join(', ')
  const all = `unnest(${places}) WITH ORDINALITY AS bridge (${names}, ${setColumn})`
  const inner = text.replace(/\$(\d+)/g, 'bridge.p$1')
  const [, target, , values, conflict = ''] = insert.exec(inner) ?? []
  if (target !== undefined) return `INSERT INTO ${target} SELECT ${values} FROM ${all}${conflict}`
  const [, change, condition] = /^update ((?:(?! where ).)*) where (.*)$/.exec(inner) ?? []
  if (change !== undefined)
    return `UPDATE ${change} FROM ${all} WHERE ${condition} RETURNING bridge.${setColumn}`
  return `SELECT bridge.${setColumn}, one.* FROM ${all} CROSS JOIN LATERAL (${inner}) AS one`
}

/** One statement for many. */
export interface Merged {
  readonly statement: Statement
  /** For each of the many, the number of the set of parameters whose rows are its answer. */
  readonly sets: readonly number[]
}

/** The types of the parameters of prepared statements, by name. */
export class MergedStatements {
  readonly #forms = new Map<string, Form | undefined>()
  /** Undefined for a statement without parameters. */
  readonly #texts = new Map<string, string | undefined>()
  readonly #wanted = new Set<string>()

  /**
   * Returns one statement for all of these, which have the same name. Undefined if they cannot be merged, and
   * while the types of their parameters are not known.
   */
  merge(statements: readonly Statement[]): Merged | undefined {
    const [first] = statements
    if (first?.name === undefined) return undefined
    const form = this.#formOf(first.name, first.text)
    const sent = form && distinct(statements, form)
    if (sent === undefined) return undefined
    const text = this.#texts.get(first.name)
    if (text === undefined) {
      if (!this.#texts.has(first.name)) this.#wanted.add(first.name)
      return undefined
    }
    const count = first.values?.length ?? 0
    const values = Array.from({ length: count }, (_, place) =>
      sent.statements.map(({ values: given }) => storedOf(given?.[place])),
    )
    return { statement: { name: `m${first.name}`, text, values }, sets: sent.sets }
  }

  #formOf(name: string, text: string): Form | undefined {
    if (!this.#forms.has(name)) this.#forms.set(name, formOf(text))
    return this.#forms.get(name)
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
      this.#texts.set(name, types.length > 0 ? mergedText(statement, types) : undefined)
  }
}

/** Leaves out what a later statement makes unnecessary. Undefined if two of them change the same row. */
function distinct(statements: readonly Statement[], { key, lastApplies = false }: Form) {
  const inOrder = { statements, sets: statements.map((_, index) => index + 1) }
  if (key === undefined) return inOrder
  const keys = statements.map(({ values }) => values?.[key])
  const last = new Map(statements.map((each, index) => [keys[index], each]))
  if (last.size === statements.length) return inOrder
  if (!lastApplies) return undefined
  const numbers = new Map([...last.keys()].map((each, index) => [each, index + 1]))
  return { statements: [...last.values()], sets: keys.map((each) => numbers.get(each) ?? 0) }
}

const storedOf = (value: unknown): unknown => (typeof value === 'string' ? toStored(value) : value)
