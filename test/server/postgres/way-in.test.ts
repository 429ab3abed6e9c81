/**
 * From an installed program to a node on PostgreSQL with the commands of docs/operations.md, word for word, as a
 * role that is no superuser. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { isOnPostgres } from '../../support/postgres.ts'
import { freePort } from '../../support/process.ts'
import { program } from '../../support/program.ts'

const programs = process.env.BRIDGE_TEST_POSTGRES_BIN ?? ''
const canRun = isOnPostgres && existsSync(join(programs, 'createdb'))

const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
const commands = /in three commands[^`]*```sh\n([^`]*)```/.exec(page)?.[1]?.trim().split('\n') ?? []

const folder = mkdtempSync(join(tmpdir(), 'bridge-way-in-'))
const { hostname, port, username } = new URL(
  process.env.BRIDGE_TEST_POSTGRES ?? 'postgres://nobody@localhost:1',
)
const asSuperuser = { ...process.env, PGHOST: hostname, PGPORT: port, PGUSER: username }
const sql = (text: string) =>
  execFileSync(join(programs, 'psql'), ['--quiet', '--dbname=postgres', `--command=${text}`], {
    env: asSuperuser,
  })

afterAll(() => {
  rmSync(folder, { recursive: true })
  if (!canRun) return
  sql('DROP DATABASE IF EXISTS agents WITH (FORCE)')
  sql('DROP ROLE IF EXISTS agents')
})

test.skipIf(!canRun)('three commands lead to a node that is ready', async () => {
  expect(commands).toHaveLength(3)
  sql('CREATE ROLE agents LOGIN')
  writeFileSync(join(folder, 'bridge'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
    mode: 0o755,
  })
  const env = {
    ...asSuperuser,
    PATH: `${folder}:${programs}:${process.env.PATH}`,
    BRIDGE_DATA: join(folder, 'data'),
    BRIDGE_PORT: String(await freePort()),
    BRIDGE_RESERVE_BYTES: '0',
    BRIDGE_LOG_LEVEL: 'error',
  }
  const [createDatabase = '', init = '', start = ''] = commands
  for (const command of [createDatabase, init]) execFileSync('sh', ['-c', command], { env, stdio: 'ignore' })
  const node = spawn('sh', ['-c', `exec ${start}`], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(node, 'exit')
  const [line] = (await once(createInterface(node.stdout), 'line')) as [string]
  const ready = await fetch(`${line.replace('ready at ', '')}/api/ready`)
  expect([ready.status, await ready.json()]).toMatchObject([200, { ready: true }])
  node.kill('SIGINT')
  expect(await ended).toEqual([0, null])
})
