/**
 * Packages through an object store, over the same through the data folder. The store is ours, in a process of
 * its own, and keeps the objects in memory. Both nodes run, and take turns.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SettingName } from '../../../server/settings.ts'
import { testKeys } from '../../support/object-store.ts'
import { filled } from '../payload.ts'
import { childrenMs, costing, noCosts, processMs } from '../processor.ts'
import { type BenchOptions, type Row, row } from '../rows.ts'
import { BenchNode } from '../transfers/node.ts'

const MiB = 1024 * 1024

export async function* objectsSection({ isQuick }: BenchOptions): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-objects-'))
  const size = (isQuick ? 128 : 512) * MiB
  const file = filled(join(folder, 'whole.bin'), size)
  const store = await startStore()
  const nodes = {
    product: await BenchNode.start({ settings: store.settings, environment: testKeys }),
    floor: await BenchNode.start(),
  }
  try {
    for (const node of Object.values(nodes)) for (const name of ['ann', 'bob']) await node.profile(name)
    const rates = { product: [] as number[], floor: [] as number[], costs: noCosts() }
    for (let round = 0; round < (isQuick ? 2 : 5); round += 1) {
      for (const side of ['floor', 'product'] as const) {
        const node = nodes[side]
        const into = join(folder, `${side}-${round}`)
        const used = () => processMs(node.server.pid) + childrenMs()
        const { result, cpuMs } = await costing(used, () => through(node, file, into))
        rates[side].push(size / 1000 / result)
        rates.costs[side].push((cpuMs * 1e9) / size)
        rmSync(into, { force: true })
      }
    }
    const figure = `objects: ${size / MiB} MiB through an object store, against the data folder`
    yield row(figure, 'MB/s', rates, { atLeast: 0.4 })
  } finally {
    await Promise.all(Object.values(nodes).map((node) => node.close()))
    store.process.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Milliseconds to send and to receive a file. */
async function through(node: BenchNode, file: string, into: string): Promise<number> {
  const began = performance.now()
  const send = ['transfer', 'send', file, '--to', 'bob', '--profile', 'ann', '--no-encrypt', '--json']
  const { id } = JSON.parse((await node.run(send)).stdout) as { id: string }
  await node.run(['transfer', 'receive', id, '--output', into, '--profile', 'bob'])
  return performance.now() - began
}

interface Store {
  readonly process: ChildProcess
  readonly settings: Partial<Record<SettingName, string>>
}

async function startStore(): Promise<Store> {
  const program = join(import.meta.dirname, 'store.ts')
  const process = spawn(globalThis.process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(process.stdout, 'data')) as [Buffer]
  return { process, settings: JSON.parse(line.toString()) as Store['settings'] }
}
