/**
 * How soon a node serves again that was killed: from the start of the program to its readiness line, over a large store with
 * a log that was never folded, and with as many nonces as a busy node holds.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createTask, type Filled, startFilled } from '../rows/filled.ts'
import { type BenchOptions, bounded, type Row, row } from '../rows.ts'

const MiB = 1024 * 1024

export async function* startSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const rows = isQuick ? 10_000 : 165_000
  const few = await startFilled({ rows: 1, bodyBytes: 4000, nonces: 0 })
  try {
    const filled = await startFilled({ rows, bodyBytes: 4000, nonces: isQuick ? 10_000 : 200_000 })
    try {
      const tookS = { product: [] as number[], floor: [] as number[] }
      const logs: number[] = []
      for (let round = 0; round < (isQuick ? 2 : 5); round += 1) {
        tookS.floor.push(await killAndStart(few, 1))
        tookS.product.push(await killAndStart(filled, isQuick ? 20 : 60, logs))
      }
      const size = mebibytes(pathOf(filled)).toFixed(0)
      const what = `${size} MiB and a log of at least ${Math.min(...logs).toFixed(1)}`
      yield bounded(`start: ready after SIGKILL, ${what}`, 's', tookS.product, 2)
      yield row('start: the same against an empty node', 's', tookS, 'for comparison')
    } finally {
      await filled.server.close()
    }
  } finally {
    await few.server.close()
  }
}

const pathOf = ({ server }: Filled): string => join(server.data, 'bridge.db')
const mebibytes = (file: string): number => statSync(file).size / MiB

/** Seconds until the node is ready that was killed while its log held what eight callers had written. */
async function killAndStart(filled: Filled, each: number, logs: number[] = []): Promise<number> {
  const { server } = filled
  await Promise.all(Array.from({ length: 8 }, () => several(() => createTask(filled), each)))
  await server.kill('SIGKILL')
  logs.push(mebibytes(`${pathOf(filled)}-wal`))
  const began = performance.now()
  await server.start()
  const tookS = (performance.now() - began) / 1000
  // A session outlives the process, so the first request is served as any other.
  await createTask(filled)
  return tookS
}

async function several(act: () => Promise<unknown>, times: number): Promise<void> {
  for (let index = 0; index < times; index += 1) await act()
}
