/**
 * TLS to a real PostgreSQL server, whose certificate is for `localhost` and from an authority of the test.
 * Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { startBridge } from '../../support/bridge.ts'
import { isOnPostgres, storeSettings } from '../../support/postgres.ts'

const authority = process.env.BRIDGE_TEST_POSTGRES_AUTHORITY

describe.skipIf(!isOnPostgres || authority === undefined)('TLS to the database', () => {
  const at = (host: string, parameters: Record<string, string>): string => {
    const url = new URL(process.env.BRIDGE_TEST_POSTGRES ?? '')
    url.hostname = host
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }
  const known = { sslmode: 'verify-full', sslrootcert: authority ?? '' }

  test('a node serves through a verified connection', async () => {
    const data = mkdtempSync(join(tmpdir(), 'bridge-'))
    const url = new URL(at('localhost', known))
    url.pathname = new URL(storeSettings(data).database ?? '').pathname
    const bridge = await startBridge({ data, settings: { database: url.href } })
    const connection = await PostgresConnection.open({ url: url.href })
    const { rows } = await connection.query<{ count: number }>({
      text: `SELECT count(*) AS count FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE datname = current_database() AND application_name = 'agent-bridge' AND NOT ssl`,
    })
    expect(rows).toEqual([{ count: 0 }])
    await connection.close()
    await bridge.close()
  })

  test.each([
    ['another host name', '127.0.0.1', known, /altnames.*; connect to a name that its certificate contains/],
    [
      'an unknown authority',
      'localhost',
      { sslmode: 'verify-full' },
      /; name its authority with sslrootcert=FILE/,
    ],
  ] as const)('%s is refused with its remedy', async (_name, host, parameters, message) => {
    await expect(PostgresConnection.open({ url: at(host, parameters) })).rejects.toThrow(message)
  })
})

test('a server without TLS is refused with the remedy, and gets no password', async () => {
  const heard: Buffer[] = []
  const plain = createServer((socket) => {
    socket.on('data', (bytes: Buffer) => {
      heard.push(bytes)
      socket.write('N')
    })
  }).listen(0, '127.0.0.1')
  await once(plain, 'listening')
  const { port } = plain.address() as AddressInfo
  const url = `postgres://agents:secret@127.0.0.1:${port}/agents?sslmode=verify-full`
  await expect(PostgresConnection.open({ url })).rejects.toThrow('set ssl to on in PostgreSQL')
  plain.close()
  // The request for TLS alone.
  expect(Buffer.concat(heard)).toHaveLength(8)
})

test('a missing file of the authority is refused as a setting', () => {
  const data = mkdtempSync(join(tmpdir(), 'bridge-'))
  const database = 'postgres://agents@db.example/agents?sslrootcert=/nowhere/ca.pem'
  expect(() => readConfig({ data, database }, {})).toThrow('cannot read sslrootcert /nowhere/ca.pem (ENOENT)')
  rmSync(data, { recursive: true })
})
