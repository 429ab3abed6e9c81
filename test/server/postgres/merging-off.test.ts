/** Units of a group side by side, or each alone if merging is off. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { nodeLane } from '../../../server/database/lanes.ts'
import { createDatabaseClock } from '../../../server/database/postgres/clock.ts'
import { openPostgresDatabase } from '../../../server/database/postgres/database.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, storeSettings } from '../../support/postgres.ts'

describe.skipIf(!isOnPostgres)('units of a group that touch nothing in common', () => {
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  const { database: url = '' } = storeSettings(data)
  beforeAll(() => makeInstallation(readConfig({ data }, {})))
  afterAll(async () => {
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  })

  /** Returns the steps of two units that share a group. */
  async function stepsOf(merges: boolean): Promise<string[]> {
    const clock = () => new Date()
    const monotonicMs = () => performance.now()
    const store = await openPostgresDatabase({
      ...{ url, merges, clock, monotonicMs, random: randomBytes },
      databaseClock: createDatabaseClock(monotonicMs, clock),
      onFatal: () => {},
      onEffectError: () => {},
    })
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
})
