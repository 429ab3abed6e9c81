/** Units of a group side by side, or each alone if merging is off. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { nodeLane } from '../../../server/database/lanes.ts'
import { createDatabaseClock } from '../../../server/database/postgres/clock.ts'
import { openPostgresDatabase } from '../../../server/database/postgres/database.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, storeSettings } from '../../support/postgres.ts'
import { add, outcomes } from '../database/store.ts'

describe.skipIf(!isOnPostgres)('units of a group that touch nothing in common', () => {
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  const { database: url = '' } = storeSettings(data)
  beforeAll(() => makeInstallation(readConfig({ data }, {})))
  afterAll(async () => {
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  })

  const open = (merges: boolean) => {
    const clock = () => new Date()
    const monotonicMs = () => performance.now()
    return openPostgresDatabase({
      ...{ url, merges, clock, monotonicMs, random: randomBytes },
      databaseClock: createDatabaseClock(monotonicMs, clock),
      onFatal: () => {},
      onEffectError: () => {},
    })
  }

  /** Returns the steps of two units that share a group. */
  async function stepsOf(merges: boolean): Promise<string[]> {
    const store = await open(merges)
    const steps: string[] = []
    const write = (name: string) =>
      store.writer.write(
        nodeLane,
        async (tx) => {
          steps.push(`${name} begins`)
          await tx.db.selectFrom('server').select('server_id').execute()
          steps.push(`${name} ends`)
        },
        { touches: { alone: [name] } },
      )
    try {
      await Promise.all([write('one'), write('other')])
      expect(store.writer.stats()).toMatchObject({ groups: 1, largestGroup: 2 })
    } finally {
      await store.close()
    }
    return steps
  }

  test('run side by side', async () => {
    expect(await stepsOf(true)).toEqual(['one begins', 'other begins', 'one ends', 'other ends'])
  })

  test('run one after another if merging is off', async () => {
    expect(await stepsOf(false)).toEqual(['one begins', 'one ends', 'other begins', 'other ends'])
  })

  test.each([true, false])('that fail are undone alone, merged: %s', async (merges) => {
    const store = await open(merges)
    onTestFinished(() => store.close())
    const write = (name: string, then: () => unknown = () => {}) =>
      store.writer.write(
        nodeLane,
        async (tx) => {
          await add(tx, name)
          await then()
        },
        { touches: { alone: [randomUUID()] } },
      )
    // Statements are merged once the writer has met them.
    for (const round of [1, 2, 3]) {
      const named = (name: string) => `${name} ${round} ${merges}`
      const refuse = () => {
        throw new Error('refused')
      }
      const writes = [
        write(named('ada')),
        write(named('undone'), refuse),
        write(named('ada')),
        write(named('late'), () => sleep(50)),
        write(named('ben')),
      ]
      expect(await outcomes(writes)).toEqual(['done', 'Error', '23505', 'UnitOverrunError', 'done'])
      const stored = await store.reader.read((db) =>
        db
          .selectFrom('owner_users')
          .select('name')
          .where('name', 'like', named('%'))
          .orderBy('name')
          .execute(),
      )
      expect(stored.map(({ name }) => name)).toEqual([named('ada'), named('ben')])
    }
    expect(store.writer.stats()).toMatchObject({ groups: 3, largestGroup: 5 })
  })
})
