/**
 * `bridge server move` of a node with a million rows, to PostgreSQL and back: messages, tasks and audit. A row
 * is read, written, read again on the other side, and hashed twice.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { program } from '../../support/program.ts'
import { startFilled } from '../rows/filled.ts'
import { type BenchOptions, bounded, type Row } from '../rows.ts'

const run = promisify(execFile)

/** 10,000 rows a second. */
const mostUsPerRow = 100

interface Report {
  readonly tables: readonly { readonly rows: number }[]
}

export async function* moveSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const server = process.env.BRIDGE_TEST_POSTGRES
  if (server === undefined) {
    yield 'move: not measured; BRIDGE_TEST_POSTGRES names the PostgreSQL server that it needs'
    return
  }
  const filled = await startFilled({ rows: isQuick ? 20_000 : 334_000, bodyBytes: 240 })
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  const name = `bench_${randomBytes(6).toString('hex')}`
  const database = new URL(server)
  database.pathname = `/${name}`
  try {
    await client.query(`CREATE DATABASE ${name}`)
    await filled.server.kill('SIGTERM')
    const { data, folder } = filled.server
    for (const [figure, target] of [
      ['SQLite to PostgreSQL', []],
      ['PostgreSQL to SQLite', ['--to', join(folder, 'back')]],
    ] as const) {
      const began = performance.now()
      const words = ['server', 'move', '--data', data, '--database', database.href, ...target, '--json']
      const { stdout } = await run(process.execPath, [program, ...words])
      const rows = (JSON.parse(stdout) as Report).tables.reduce((sum, each) => sum + each.rows, 0)
      const tookMs = performance.now() - began
      yield bounded(`move: ${figure}, ${rows} rows`, 'µs a row', [(tookMs * 1000) / rows], mostUsPerRow)
    }
  } finally {
    await filled.server.close()
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await client.end()
  }
}
