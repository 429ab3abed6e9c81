/** What a node says of a failover. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { recordPlace } from '../../../server/database/postgres/held.ts'
import { Timeline } from '../../../server/database/postgres/timeline.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, storeSettings } from '../../support/postgres.ts'

describe.skipIf(!isOnPostgres)('a failover that may have lost nonces', () => {
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  const { database: url = '' } = storeSettings(data)
  const connections: PostgresConnection[] = []
  const connect = async () => {
    const connection = await PostgresConnection.open({ url })
    connections.push(connection)
    return connection
  }

  beforeAll(async () => {
    await makeInstallation(readConfig({ data }, {}))
  })
  afterAll(async () => {
    for (const connection of connections) await connection.close()
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  })

  test('is reported once, also if another connection is done with it first', async () => {
    const [recording, later] = [await connect(), await connect()]
    await recordPlace(recording)
    await recording.query({ text: 'INSERT INTO replay_floor (one, floor) VALUES (1, 0)' })
    await recording.query({ text: "UPDATE place SET timeline = '00000000', synchronous = 0" })
    const floors: number[] = []
    const timeline = new Timeline({ latest: () => new Date(), onFailover: (floor) => floors.push(floor) })
    let hasOvertaken = false
    const overtaken: Pick<PostgresConnection, 'query'> = {
      async query(statement) {
        const answer = await recording.query<never>(statement)
        if (statement.text.includes('UPDATE replay_floor') && !hasOvertaken) {
          hasOvertaken = true
          await timeline.settle(later)
        }
        return answer
      },
    }
    await timeline.settle(overtaken as PostgresConnection)
    await timeline.settle(later)
    expect(hasOvertaken).toBe(true)
    expect(floors).toEqual([timeline.floor])
    expect(timeline.floor).toBeGreaterThan(0)
  })
})
