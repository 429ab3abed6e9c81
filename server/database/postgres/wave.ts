/**
 * Units that run side by side in one transaction, because they touch nothing in common.
 *
 * Each runs until it waits for a statement. Once all of them wait, their statements are sent together: equal ones
 * merged to one, the others in a pipeline. The statements of one unit keep their order.
 */
import type { Answer, PostgresConnection, Statement } from './connection.ts'
import { type MergedStatements, setColumn } from './merged.ts'

/** The part of a connection that the view of a unit needs. */
export interface Asked {
  query<R>(statement: Statement): Promise<Answer<R>>
}

/** Ids of what a unit reads and changes. Undefined: the unit may read and change anything. */
export type Touches = readonly string[] | undefined

/**
 * Divides requests into waves. Requests that touch something in common keep their order and are in different waves. A
 * request that may touch anything is in a wave of its own, after the others.
 */
export function wavesOf<T>(requests: readonly T[], touchesOf: (request: T) => Touches): T[][] {
  const waves: T[][] = []
  const alone: T[][] = []
  const free = new Map<string, number>()
  for (const request of requests) {
    const touches = touchesOf(request)
    if (touches === undefined) {
      alone.push([request])
      continue
    }
    const place = Math.max(0, ...touches.map((id) => free.get(id) ?? 0))
    const wave = waves[place]
    if (wave === undefined) waves.push([request])
    else wave.push(request)
    for (const id of touches) free.set(id, place + 1)
  }
  return [...waves, ...alone]
}

interface Entry {
  readonly unit: object
  readonly statement: Statement
  readonly resolve: (answer: Answer<unknown>) => void
  readonly reject: (error: unknown) => void
}

export class Wave {
  readonly #connection: PostgresConnection
  /** Undefined: statements are sent together, but not merged. */
  readonly #merged: MergedStatements | undefined
  #entries: Entry[] = []

  constructor(connection: PostgresConnection, merged: MergedStatements | undefined) {
    this.#connection = connection
    this.#merged = merged
  }

  /** The connection, as one unit uses it. */
  member(): Asked {
    const unit = {}
    return {
      query: <R>(statement: Statement) =>
        new Promise<Answer<R>>((resolve, reject) => {
          if (this.#entries.length === 0) queueMicrotask(() => process.nextTick(() => this.flush()))
          this.#entries.push({ unit, statement, resolve: resolve as Entry['resolve'], reject })
        }),
    }
  }

  /** Sends what waits. */
  flush(): void {
    const entries = this.#entries
    this.#entries = []
    for (const batch of batchesOf(entries)) this.#send(batch)
  }

  #send(batch: readonly Entry[]): void {
    const merged = batch.length > 1 ? this.#merged?.merge(batch.map(({ statement }) => statement)) : undefined
    if (merged === undefined) {
      for (const { statement, resolve, reject } of batch)
        this.#connection.query<unknown>(statement).then(resolve, reject)
      return
    }
    this.#connection.query<Record<string, unknown>>(merged).then(
      (answer) => distribute(batch, answer),
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
}

/** Groups entries of the same statement, such that the statements of each unit keep their order. */
function batchesOf(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = []
  const places = new Map<string, number>()
  const lastOf = new Map<object, number>()
  for (const entry of entries) {
    const name = entry.statement.name ?? ''
    const place = places.get(name)
    const isLater = place !== undefined && place > (lastOf.get(entry.unit) ?? -1)
    const target = name !== '' && isLater ? place : batches.push([]) - 1
    batches[target]?.push(entry)
    places.set(name, target)
    lastOf.set(entry.unit, target)
  }
  return batches
}

/** Gives each entry its rows. An insert has none, and a row of an update only counts. */
function distribute(batch: readonly Entry[], { rows, command }: Answer<Record<string, unknown>>): void {
  const found = batch.map((): unknown[] => [])
  for (const { [setColumn]: set, ...row } of rows) found[Number(set) - 1]?.push(row)
  for (const [index, { resolve }] of batch.entries()) {
    const own = found[index] ?? []
    const count = command === 'INSERT' ? 1 : own.length
    resolve({ rows: command === 'SELECT' ? own : [], count, command })
  }
}
