/** Which units of a group run side by side, and which of their statements become one. */
import { describe, expect, test } from 'vitest'
import type { Statement } from '../../../server/database/postgres/connection.ts'
import { MergedStatements } from '../../../server/database/postgres/merged.ts'
import { wavesOf } from '../../../server/database/postgres/wave.ts'
import type { Touches } from '../../../server/database/touches.ts'

type Named = Touches & { readonly name: string }

const one = (name: string, alone: readonly string[], together: readonly string[] = []): Named => ({
  name,
  alone,
  together,
})

const namesOf = (requests: readonly (Named | { readonly name: string })[]): string[][] =>
  wavesOf(requests, (each) => ('alone' in each ? each : undefined)).map((wave) =>
    wave.map(({ name }) => name),
  )

describe('units of a group', () => {
  test('run side by side if they touch nothing in common, or all of them touch it together', () => {
    const [a, b, c] = [one('a', ['x'], ['inbox']), one('b', ['y'], ['inbox']), one('c', ['z'])]
    expect(namesOf([a, b, c])).toEqual([['a', 'b', 'c']])
  })

  test('keep their order if one touches alone what the others touch', () => {
    const [a, b] = [one('a', ['x'], ['inbox']), one('b', ['y'], ['inbox'])]
    const [reader, later] = [one('reader', ['inbox']), one('later', ['z'], ['inbox'])]
    expect(namesOf([a, b, reader, later])).toEqual([['a', 'b'], ['reader'], ['later']])
    expect(namesOf([reader, a])).toEqual([['reader'], ['a']])
    // The later one touches more, and still waits for the reader.
    expect(namesOf([a, reader, one('both', ['x'], ['inbox'])])).toEqual([['a'], ['reader'], ['both']])
  })

  test('run alone if they name nothing', () => {
    expect(namesOf([{ name: 'any' }, one('a', []), one('b', [])])).toEqual([['a', 'b'], ['any']])
  })
})

const named = (text: string, values: readonly unknown[]): Statement => ({ name: 'q', text, values })

/** Merges after the types of the parameters are known. */
async function merge(statements: readonly Statement[]) {
  const merged = new MergedStatements()
  merged.merge([statements[0] as Statement, named(statements[0]?.text ?? '', ['another', 'another'])])
  const row = { name: 'q', statement: statements[0]?.text, types: ['bigint', 'text'] }
  await merged.learn({ query: async () => ({ rows: [row], count: 1, command: 'SELECT' }) } as never)
  return merged.merge(statements)
}

describe('statements that read', () => {
  const ofType = `select * from "messages" where "hops" = $1 and "type" = case when $2 = 'a' then 'task' end`

  test('are one statement, also with words in them', async () => {
    const found = await merge([named(ofType, [1, 'a']), named(ofType, [2, 'b'])])
    const inner = ofType.replace('$1', 'bridge.p1').replace('$2', 'bridge.p2')
    expect(found?.statement.text).toContain(`LATERAL (${inner}) AS one`)
    expect(found?.statement.values).toEqual([
      [1, 2],
      ['a', 'b'],
    ])
  })

  test.each([
    `select * from "messages" where "hops" = $1 and "body" = '$2'`,
    `select * from "messages" where "hops" = $1 and "body" = 'it''s $2'`,
    `select * from "messages" where "hops" = $1 and "body" = 'open`,
    `select * from "messages" where "hops" = $1 and "type" = 'task' for update`,
  ])('are not merged if a word looks like a parameter, or rows are locked: %s', async (text) => {
    expect(await merge([named(text, [1, 'a']), named(text, [2, 'b'])])).toBeUndefined()
  })
})

describe('statements that change one row', () => {
  test('are sent as the last of them if they set given values', async () => {
    const text = 'update "conversations" set "last_sequence" = $1 where "id" = $2'
    const found = await merge([named(text, [1, 'a']), named(text, [1, 'b']), named(text, [2, 'a'])])
    expect(found?.statement.values).toEqual([
      [2, 1],
      ['a', 'b'],
    ])
    expect(found?.sets).toEqual([1, 2, 1])
  })

  test('are not merged if the value depends on the row or on another condition', async () => {
    const added = 'update "messages" set "offers" = "offers" + $1 where "id" = $2'
    expect(await merge([named(added, [1, 'a']), named(added, [1, 'a'])])).toBeUndefined()
    expect(await merge([named(added, [1, 'a']), named(added, [1, 'b'])])).toBeDefined()
    const open = 'update "messages" set "offers" = $1 where "id" = $2 and "acknowledged_at" is null'
    expect(await merge([named(open, [1, 'a']), named(open, [2, 'a'])])).toBeUndefined()
  })
})
