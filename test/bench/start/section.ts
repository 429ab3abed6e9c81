/**
 * The time until a killed node serves again, from the start of the program to its readiness line. The store
 * is large, its WAL was never checkpointed, and it has as many nonces as a busy node has.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { noCosts, processMs } from '../processor.ts'
import { addNonces, createTask, type Filled } from '../rows/filled.ts'
import { sizes } from '../rows/section.ts'
import { type BenchOptions, bounded, type Row, row } from '../rows.ts'

const MiB = 1024 * 1024

export async function* startSection({ isQuick, stores }: BenchOptions): AsyncGenerator<Row | string> {
  const rows = sizes(isQuick)
  const few = await stores.filled(rows.few)
  const many = await stores.filled(rows.many)
  await addNonces(many, isQuick ? 10_000 : 200_000)
  const tookS = { product: [] as number[], floor: [] as number[], costs: noCosts() }
  const logs: number[] = []
  for (let round = 0; round < (isQuick ? 2 : 5); round += 1) {
    const small = await killAndStart(few, 1)
    const large = await killAndStart(many, isQuick ? 20 : 60)
    logs.push(large.logMiB)
    for (const [side, start] of [
      ['floor', small],
      ['product', large],
    ] as const) {
      tookS[side].push(start.tookS)
      tookS.costs[side].push(start.cpuUs)
    }
  }
  const what = `${mebibytes(pathOf(many)).toFixed(0)} MiB and a log of at least ${Math.min(...logs).toFixed(1)}`
  yield bounded(`start: ready after SIGKILL, ${what}`, 's', tookS.product, 2)
  yield row(`start: the same against ${mebibytes(pathOf(few)).toFixed(0)} MiB`, 's', tookS, 'for comparison')
}

const pathOf = ({ server }: Filled): string => join(server.data, 'bridge.db')
const mebibytes = (file: string): number => statSync(file).size / MiB

/** Returns the seconds until a killed node is ready, whose WAL contained the writes of eight callers. */
async function killAndStart(filled: Filled, each: number) {
  const { server } = filled
  await Promise.all(Array.from({ length: 8 }, () => several(() => createTask(filled), each)))
  await server.kill('SIGKILL')
  const logMiB = mebibytes(`${pathOf(filled)}-wal`)
  const began = performance.now()
  await server.start()
  const tookS = (performance.now() - began) / 1000
  const cpuUs = processMs(server.pid) * 1000
  // A session outlives the process, so the first request is served like any other.
  await createTask(filled)
  return { tookS, cpuUs, logMiB }
}

async function several(act: () => Promise<unknown>, times: number): Promise<void> {
  for (let index = 0; index < times; index += 1) await act()
}
