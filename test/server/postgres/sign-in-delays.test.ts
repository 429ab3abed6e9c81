/** Delays after wrong passwords, which all nodes of a database share. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { Link } from '../../../server/database/postgres/link.ts'
import { createStoredDelays } from '../../../server/database/postgres/sign-in-delays.ts'
import { makeInstallation } from '../../support/installation.ts'
import { databaseUrl, dropDatabase, isOnPostgres, onDatabase } from '../../support/postgres.ts'

describe.skipIf(!isOnPostgres)('delays after wrong passwords', () => {
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  let links: Link[] = []
  beforeAll(async () => {
    await makeInstallation(readConfig({ data }, {}))
    links = [new Link({ url: databaseUrl(data) }), new Link({ url: databaseUrl(data) })]
  })
  afterAll(async () => {
    for (const link of links) await link.close()
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  })
  const nodes = () => links.map((link) => createStoredDelays(link, () => performance.now()))
  const leftMs = async (require: () => Promise<void>): Promise<number> =>
    require().then(
      () => 0,
      (error: { retryAfterMs?: number }) => error.retryAfterMs ?? Number.NaN,
    )

  test('grow with the wrong passwords at all nodes, hold at each, and end with a correct one', async () => {
    const [one, other] = nodes()
    const delays = [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    for (const [index, seconds] of delays.entries()) {
      const beganMs = performance.now()
      await (index % 2 === 0 ? other : one)?.failed('name olu')
      const left = await leftMs(async () => one?.require('name olu'))
      expect(left).toBeLessThanOrEqual(seconds * 1000)
      // The delay began before the commit, for which a disk may need long.
      expect(left).toBeGreaterThanOrEqual(Math.max(0, seconds * 1000 - (performance.now() - beganMs) - 10))
    }
    expect(await leftMs(async () => other?.require('name olu'))).toBeGreaterThan(290_000)
    expect(await leftMs(async () => other?.require('name ada'))).toBe(0)
    await other?.succeeded('name olu')
    expect(await leftMs(async () => one?.require('name olu'))).toBe(0)
  })

  test('stay at their longest after thousands of wrong passwords', async () => {
    const [one, other] = nodes()
    await one?.failed('name bot')
    await onDatabase(data, (client) =>
      client.query("UPDATE sign_in_failures SET failures = 1028, until = now() - interval '1 s'"),
    )
    await one?.failed('name bot')
    expect(await leftMs(async () => other?.require('name bot'))).toBeGreaterThan(290_000)
    await one?.succeeded('name bot')
  })

  test('are stored without the name, which may be a password', async () => {
    const [one] = nodes()
    await one?.failed('name correct horse')
    const stored = await onDatabase(data, (client) =>
      client.query<{ row: string }>('SELECT sign_in_failures::text AS row FROM sign_in_failures'),
    )
    expect(stored.rows).not.toEqual([])
    expect(stored.rows.map(({ row }) => row).join()).not.toContain('horse')
  })

  test('are forgotten an hour after their end, and not before', async () => {
    const [one] = nodes()
    for (const key of ['old', 'young']) await one?.failed(key)
    await onDatabase(data, (client) =>
      client.query("UPDATE sign_in_failures SET until = until - interval '59 minutes'"),
    )
    const count = async () =>
      onDatabase(data, async (client) => (await client.query('SELECT 1 FROM sign_in_failures')).rowCount)
    await nodes()[0]?.failed('young')
    const before = (await count()) ?? 0
    expect(before).toBeGreaterThanOrEqual(2)
    await onDatabase(data, (client) =>
      client.query("UPDATE sign_in_failures SET until = until - interval '2 minutes'"),
    )
    await nodes()[0]?.failed('young')
    expect(await count()).toBe(1)
  })
})
