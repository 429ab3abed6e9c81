/**
 * How soon a node serves again that was killed: from the start of the program to its readiness line, over a large store with
 * a log that was never folded, and with as many nonces as a busy node holds.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createTask, startFilled } from '../rows/filled.ts'
import { type BenchOptions, bounded, type Row } from '../rows.ts'

const MiB = 1024 * 1024

export async function* startSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const rows = isQuick ? 30_000 : 160_000
  const filled = await startFilled({ rows, bodyBytes: 4000, nonces: isQuick ? 30_000 : 200_000 })
  const { server } = filled
  try {
    const path = join(server.data, 'bridge.db')
    const size = (file: string) => statSync(file).size / MiB
    const tookS: number[] = []
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < (isQuick ? 3 : 5); round += 1) {
      await Promise.all(Array.from({ length: 8 }, () => several(() => createTask(filled), isQuick ? 20 : 60)))
      await server.kill('SIGKILL')
      least = Math.min(least, size(`${path}-wal`))
      const began = performance.now()
      await server.start()
      tookS.push((performance.now() - began) / 1000)
      // A session outlives the process, so the first request is served as any other.
      await createTask(filled)
    }
    const what = `${size(path).toFixed(0)} MiB and a log of at least ${least.toFixed(1)} MiB`
    yield bounded(`start: ready after SIGKILL, ${what}`, 's', tookS, 2)
  } finally {
    await server.close()
  }
}

async function several(act: () => Promise<unknown>, times: number): Promise<void> {
  for (let index = 0; index < times; index += 1) await act()
}
