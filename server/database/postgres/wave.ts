/**
 * Units that run side by side in one transaction, because they touch nothing in common.
 *
 * Each runs until it waits for a statement. Once all of them wait, their statements are sent together: equal
 * ones merged to one, the others in a pipeline. The statements of one unit keep their order.
 */

import type { Touches } from '../touches.ts'
import type { Answer, PostgresConnection, Statement } from './connection.ts'
import { type MergedStatements, setColumn } from './merged.ts'

/** The part of a connection that the view of a unit needs. */
export interface Asked {
  query<R>(statement: Statement): Promise<Answer<R>>
}

/**
 * Divides requests into waves. If requests touch something in common, and one of them touches it alone, they
 * keep their order and are in different waves. A request that may touch anything is in a wave of its own,
 * after the others.
 */
export function wavesOf<T>(requests: readonly T[], touchesOf: (request: T) => Touches | undefined): T[][] {
  const waves: T[][] = []
  const alone: T[][] = []
  /**
   * The first wave in which something may be touched alone, and the first in which it may be touched
   * together.
   */
  const free = { alone: new Map<string, number>(), together: new Map<string, number>() }
  for (const request of requests) {
    const touches = touchesOf(request)
    if (touches === undefined) {
      alone.push([request])
      continue
    }
    const together = touches.together ?? []
    const place = Math.max(
      0,
      ...touches.alone.map((each) => free.alone.get(each) ?? 0),
      ...together.map((each) => free.together.get(each) ?? 0),
    )
    const wave = waves[place]
    if (wave === undefined) waves.push([request])
    else wave.push(request)
    for (const each of touches.alone) {
      free.alone.set(each, place + 1)
      free.together.set(each, place + 1)
    }
    for (const each of together) free.alone.set(each, Math.max(place + 1, free.alone.get(each) ?? 0))
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
    this.#connection.query<Record<string, unknown>>(merged.statement).then(
      (answer) => distribute(batch, merged.sets, answer),
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
}

/**
 * Groups entries of the same statement, such that the statements of each unit keep their order. Equal
 * statements keep theirs too.
 */
function batchesOf(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = []
  const places = new Map<string, number>()
  const lastOf = new Map<object, number>()
  for (const entry of entries) {
    const name = entry.statement.name ?? ''
    const place = places.get(name)
    const isLater = place !== undefined && place >= (lastOf.get(entry.unit) ?? 0)
    const target = name !== '' && isLater ? place : batches.push([]) - 1
    batches[target]?.push(entry)
    places.set(name, target)
    lastOf.set(entry.unit, target)
  }
  return batches
}

/** Gives each entry its rows. An insert has none, and a row of an update only counts. */
function distribute(
  batch: readonly Entry[],
  sets: readonly number[],
  { rows, command }: Answer<Record<string, unknown>>,
): void {
  const found = batch.map((): unknown[] => [])
  for (const { [setColumn]: set, ...row } of rows) found[Number(set) - 1]?.push(row)
  for (const [index, { resolve }] of batch.entries()) {
    const own = found[(sets[index] ?? 0) - 1] ?? []
    const count = command === 'INSERT' ? 1 : own.length
    resolve({ rows: command === 'SELECT' ? own : [], count, command })
  }
}
