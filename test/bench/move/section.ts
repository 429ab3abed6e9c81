/**
 * `bridge server move` of a node with a million rows, to PostgreSQL and back: messages, tasks and audit. A row
 * is read, written, read again on the other side, and hashed twice. PostgreSQL is started by the section, on the same
 * disk.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { program } from '../../support/program.ts'
import { childrenMs, costing } from '../processor.ts'
import { startFilled } from '../rows/filled.ts'
import { type BenchOptions, bounded, type Row } from '../rows.ts'

const run = promisify(execFile)

/** 10,000 rows a second. */
const mostUsPerRow = 100

interface Report {
  readonly tables: readonly { readonly rows: number }[]
}

export async function* moveSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  if (!hasPostgres) {
    yield 'move: needs the programs of PostgreSQL, as Debian installs them'
    return
  }
  const filled = await startFilled({ rows: isQuick ? 20_000 : 334_000, bodyBytes: 240 })
  const cluster = await Cluster.start(['shared_buffers = 256MB'])
  try {
    await filled.server.kill('SIGTERM')
    const { data, folder } = filled.server
    for (const [figure, target] of [
      ['SQLite to PostgreSQL', []],
      ['PostgreSQL to SQLite', ['--to', join(folder, 'back')]],
    ] as const) {
      const began = performance.now()
      const words = ['server', 'move', '--data', data, '--database', cluster.url, ...target, '--json']
      const { result, cpuMs } = await costing(childrenMs, () => run(process.execPath, [program, ...words]))
      const { stdout } = result
      const rows = (JSON.parse(stdout) as Report).tables.reduce((sum, each) => sum + each.rows, 0)
      const tookMs = performance.now() - began
      const costs = { product: [(cpuMs * 1000) / rows], floor: [] }
      yield bounded(
        `move: ${figure}, ${rows} rows`,
        'µs a row',
        [(tookMs * 1000) / rows],
        mostUsPerRow,
        costs,
      )
    }
  } finally {
    await filled.server.close()
    await cluster.close()
  }
}
