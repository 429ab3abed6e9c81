/**
 * `bridge server move` is killed at a step, in both directions. Then either the source starts as before and a
 * new move succeeds, or the source refuses and the same move ends. Never do both sides serve.
 *
 * Runs with `BRIDGE_TEST_STORE=postgres`. Each run draws two steps in each direction, and `BRIDGE_SEED` repeats
 * one. `BRIDGE_KILLS=200` covers every step.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copiedTables } from '../../../server/database/row-copy.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { run, starts } from './killed.ts'
import {
  expectServed,
  makeDatabase,
  makeScene,
  removeFolders,
  type Scene,
  startOn,
  temporary,
} from './scene.ts'

const tables = copiedTables.map(({ name }) => name)
const forth = [...['target', ...tables], ...['arrival', 'departure', 'settings', 'settling', 'end']]
const back = [...['note', 'settings', 'packages', ...tables], ...['departure', 'name', 'end']]

const kills = Number(process.env.BRIDGE_KILLS ?? 4)
const seed = Number(process.env.BRIDGE_SEED ?? Date.now() % 100_000)

/** The steps around the records of the move always, and others by the seed. */
function drawn(steps: readonly string[], always: readonly string[]): string[] {
  const others = steps.filter((step) => !always.includes(step))
  const first = seed % others.length
  const turned = [...others.slice(first), ...others.slice(0, first)]
  return [...always, ...turned].slice(0, Math.max(always.length, kills / 2))
}

describe.skipIf(!isOnPostgres)(`a move that is killed (seed ${seed})`, () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await makeScene()
  })
  afterAll(removeFolders)

  const copyOf = (folder: string): string => {
    const data = join(temporary(), 'data')
    cpSync(folder, data, { recursive: true })
    return data
  }

  test.each(drawn(forth, ['departure', 'settling']))('to PostgreSQL, at %s', async (step) => {
    const data = copyOf(scene.data)
    const { url, drop } = await makeDatabase()
    await run({ data, url }, step)
    const hasLeft = forth.indexOf(step) > forth.indexOf('departure')
    expect(await starts(data, '')).toBe(!hasLeft)
    if (!hasLeft) {
      expect((await run({ data, url }))?.tables.map(({ table }) => table)).toEqual(tables)
    } else if (step !== 'end') {
      expect((await run({ data, url }))?.tables).toEqual([])
    }
    expect(await starts(data, '')).toBe(false)
    const server = await startOn(data, { database: url, port: scene.port })
    await expectServed(scene).finally(() => server.stop())
    await drop()
  })

  test('at the settling: the start of the node ends the move', async () => {
    const data = copyOf(scene.data)
    const { url, drop } = await makeDatabase()
    await run({ data, url }, 'settling')
    expect(await starts(temporary(), url)).toBe(false)
    expect(await starts(data, url)).toBe(true)
    expect(await starts(temporary(), url)).toBe(true)
    await drop()
  })

  test.each(drawn(back, ['departure', 'name']))('to a folder, at %s', async (step) => {
    const data = copyOf(scene.data)
    const { url, drop } = await makeDatabase()
    await run({ data, url })
    const to = join(temporary(), 'back')
    await run({ data, url, to }, step)
    const hasLeft = back.indexOf(step) > back.indexOf('departure')
    if (step !== 'end') expect(await starts(to, '')).toBe(false)
    expect(await starts(data, url)).toBe(!hasLeft)
    if (!hasLeft) {
      expect((await run({ data, url, to }))?.tables.map(({ table }) => table)).toEqual(tables)
    } else if (step !== 'end') {
      expect((await run({ data, url, to }))?.tables).toEqual([])
    }
    expect(await starts(data, url)).toBe(false)
    const server = await startOn(to, { port: scene.port })
    await expectServed(scene).finally(() => server.stop())
    await drop()
  })
})
