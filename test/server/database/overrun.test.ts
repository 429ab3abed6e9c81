import { readFile } from 'node:fs/promises'
import { setImmediate as immediate, setTimeout as timer } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Tx, UnitEndedError } from '../../../server/database/tx.ts'
import { UnitOverrunError } from '../../../server/database/unit-overrun.ts'
import { add, openStore } from './store.ts'

const outside = {
  'a turn of the event loop': () => immediate(),
  'a timer of 0 ms': () => timer(0),
  'the next tick': () => new Promise<void>((resolve) => process.nextTick(resolve)),
  'a file': () => readFile(import.meta.filename),
  'a promise that never resolves': () => new Promise(() => {}),
}

test.each(Object.entries(outside))(
  'a unit that awaits %s is rolled back and refused by name',
  async (_, wait) => {
    const { writer, names } = openStore()
    const neighbours = [
      writer.write((tx) => add(tx, 'ada')),
      writer.write(async (tx) => {
        await add(tx, 'ben')
        await wait()
      }),
      writer.write((tx) => add(tx, 'cleo')),
    ]
    const told = await Promise.allSettled(neighbours)
    expect(told.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await expect(neighbours[1]).rejects.toBeInstanceOf(UnitOverrunError)
    expect(names()).toEqual(['ada', 'cleo'])
  },
)

test('later writes of an overrun unit never reach the store', async () => {
  const { writer, names } = openStore()
  const zombie = Promise.withResolvers<unknown>()
  const overrun = writer.write(async (tx) => {
    await timer(0)
    const tries = [() => add(tx, 'late'), async () => tx.id(), async () => tx.afterCommit(() => {})]
    zombie.resolve(await Promise.allSettled(tries.map(async (attempt) => attempt())))
  })
  await expect(overrun).rejects.toBeInstanceOf(UnitOverrunError)
  const refused = { status: 'rejected', reason: expect.any(UnitOverrunError) }
  expect(await zombie.promise).toEqual([refused, refused, refused])
  await writer.write((tx) => add(tx, 'ada'))
  expect(names()).toEqual(['ada'])
})

test('an overrun unit cannot write into a later unit either', async () => {
  const { writer, names } = openStore()
  const kept: Tx[] = []
  const overrun = writer.write(async (tx) => {
    kept.push(tx)
    await new Promise(() => {})
  })
  await expect(overrun).rejects.toBeInstanceOf(UnitOverrunError)
  const later = writer.write(async (tx) => {
    await add(tx, 'ada')
    for (const zombie of kept) await expect(add(zombie, 'late')).rejects.toBeInstanceOf(UnitOverrunError)
  })
  await later
  expect(names()).toEqual(['ada'])
})

test('a transaction is unusable after its unit', async () => {
  const { writer, names } = openStore()
  const tx = await writer.write(async (tx) => tx)
  await expect(add(tx, 'late')).rejects.toBeInstanceOf(UnitEndedError)
  expect(() => tx.id()).toThrow(UnitEndedError)
  expect(() => tx.afterCommit(() => {})).toThrow(UnitEndedError)
  expect(names()).toEqual([])
})
