/** Statements that reach PostgreSQL: for a send in a full group, and for waits in which nothing happens. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { bounded, type Row } from '../rows.ts'
import type { TwoStores } from './world.ts'

const program = join(import.meta.dirname, 'statements-process.ts')

export async function* statements(
  { cluster }: Pick<TwoStores, 'cluster'>,
  isQuick: boolean,
): AsyncGenerator<Row> {
  const rounds = isQuick ? 1 : 3
  const sends: number[] = []
  for (let round = 0; round < rounds; round += 1) sends.push(await counted(cluster.url, 'send'))
  yield bounded('postgres: statements for a send in a group of 32', '', sends, 3)
  // Each wait renews its contact within a minute.
  const [waits, seconds] = isQuick ? [300, 4] : [5000, 65]
  const idle = await counted(cluster.url, 'waits', waits, seconds)
  yield bounded(`postgres: statements a second of ${waits} idle waits`, '1/s', [idle], 10)
}

async function counted(database: string, ...what: readonly (string | number)[]): Promise<number> {
  const child = spawn(process.execPath, [program, ...what.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, BRIDGE_TEST_STORE: 'postgres', BRIDGE_TEST_POSTGRES: database },
  })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`counting statements ended with ${code}`)
  return Number(printed)
}
