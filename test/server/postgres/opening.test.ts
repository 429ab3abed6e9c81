/**
 * Requests while the database cannot be reached. They wait for it in its first 1.5 seconds, by a clock that the
 * test holds. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { nodeLane } from '../../../server/database/lanes.ts'
import type { NodeDatabase } from '../../../server/database/node-database.ts'
import { createDatabaseClock } from '../../../server/database/postgres/clock.ts'
import { openPostgresDatabase } from '../../../server/database/postgres/database.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, storeSettings } from '../../support/postgres.ts'
import { type Switch, startSwitch } from '../../support/switch.ts'
import { add } from '../database/store.ts'

describe.skipIf(!isOnPostgres)('a database that cannot be reached', () => {
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  const { database: url = 'postgres://127.0.0.1' } = storeSettings(data)
  const port = Number(new URL(url).port)
  let nowMs = 0
  let way: Switch
  let store: NodeDatabase

  beforeAll(async () => {
    await makeInstallation(readConfig({ data }, {}))
    way = await startSwitch(port)
    const clock = () => new Date()
    const monotonicMs = () => nowMs
    store = await openPostgresDatabase({
      ...{ url: way.urlOf(url), clock, monotonicMs, random: randomBytes },
      databaseClock: createDatabaseClock(monotonicMs, clock),
      onFatal: () => {},
      onEffectError: () => {},
    })
  })
  afterAll(async () => {
    await store.close()
    await way.close()
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  })

  const requests = {
    read: () => store.reader.read((db) => db.selectFrom('server').select('server_id').execute()),
    write: () => store.writer.write(nodeLane, (tx) => add(tx, `owner-${randomBytes(4).toString('hex')}`)),
  }

  /** Reads of different turns of the event loop run on different connections. */
  const readsInTurns = async () => {
    const turns = Array.from({ length: 8 }, () => new Promise((resolve) => setImmediate(resolve)))
    await Promise.all(turns.map((turn) => turn.then(requests.read)))
  }

  test('reads that find all their connections cut open new ones', async () => {
    for (let round = 0; round < 3; round += 1) {
      const before = way.led
      await expect
        .poll(async () => {
          await readsInTurns()
          return way.led - before
        })
        .toBeGreaterThanOrEqual(2)
      way.lead(port)
      await Promise.all([requests.read(), requests.read()])
    }
  })

  describe.each(['read', 'write'] as const)('a %s', (kind) => {
    const request = requests[kind]
    /** Resolves once so many connections more were cut. */
    const cuts = async (more: number) => {
      const wanted = way.refused + more
      await expect.poll(() => way.refused).toBeGreaterThanOrEqual(wanted)
    }

    test('waits for it in the first 1.5 seconds', async () => {
      way.isolate()
      const answer = request()
      await cuts(2)
      nowMs += 1499
      await cuts(2)
      way.lead(port)
      await answer
    })

    test('is refused afterwards, and later ones at once, until it is reached again', async () => {
      way.isolate()
      const first = request()
      const refused = expect(first).rejects.toMatchObject({ code: 'unavailable' })
      await cuts(2)
      nowMs += 1500
      await refused
      const before = way.refused
      await expect(request()).rejects.toMatchObject({ code: 'unavailable' })
      // A try that failed a moment ago holds for it, too.
      expect(way.refused).toBeLessThanOrEqual(before + 1)
      way.lead(port)
      await expect
        .poll(() =>
          request().then(
            () => 'answered',
            () => 'refused',
          ),
        )
        .toBe('answered')
      way.isolate()
      const waits = request()
      await cuts(2)
      way.lead(port)
      await waits
    })
  })
})
