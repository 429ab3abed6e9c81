/**
 * Files through the package store and from machine to machine, and what everybody else notices of them.
 *
 * Bytes lie in the page cache at first; product and floor take turns, each round in a folder of its own.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { filled } from '../payload.ts'
import type { BenchOptions, Row } from '../rows.ts'
import { row } from '../rows.ts'
import { BenchNode } from './node.ts'

const MiB = 1024 * 1024

interface Bench {
  readonly node: BenchNode
  readonly folder: string
  readonly file: string
  readonly size: number
  readonly rounds: number
}

export async function* transfersSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-transfers-'))
  const node = await BenchNode.start()
  try {
    for (const name of ['ann', 'bob']) await node.profile(name)
    const size = (isQuick ? 256 : 1024) * MiB
    const file = filled(join(folder, 'payload.bin'), size)
    const bench = { node, folder, file, size, rounds: isQuick ? 3 : 5 }
    yield* throughTheStore(bench)
  } finally {
    await node.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Upload, verify, download, verify; each half a command of its own. */
async function* throughTheStore(bench: Bench): AsyncGenerator<Row> {
  const { size, rounds } = bench
  const rates = { product: [] as number[], floor: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    rates.floor.push(size / 1000 / (await inFreshFolder(bench, (into) => floorMs(bench, into))))
    rates.product.push(size / 1000 / (await inFreshFolder(bench, (into) => storeMs(bench, into))))
  }
  const figure = `transfers: ${size / MiB} MiB through the store, against two synced copies`
  yield row(figure, 'MB/s', rates, { atLeast: 0.4 })
}

async function floorMs({ file }: Bench, into: string): Promise<number> {
  const began = performance.now()
  const floor = spawn(process.execPath, [join(import.meta.dirname, 'floor-twice.mjs'), file, into], {
    stdio: 'inherit',
  })
  const [code] = await once(floor, 'close')
  if (code !== 0) throw new Error('the floor failed')
  return performance.now() - began
}

async function storeMs({ node, file }: Bench, into: string): Promise<number> {
  const began = performance.now()
  const sent = await node.run([
    'transfer',
    'send',
    file,
    '--to',
    'bob',
    '--no-encrypt',
    '--profile',
    'ann',
    '--json',
  ])
  const { id } = JSON.parse(sent.stdout) as { id: string }
  await node.run(['transfer', 'receive', id, '--output', join(into, 'received'), '--profile', 'bob'])
  return performance.now() - began
}

async function inFreshFolder<T>({ folder }: Bench, act: (into: string) => Promise<T>): Promise<T> {
  const into = mkdtempSync(join(folder, 'into-'))
  try {
    return await act(into)
  } finally {
    rmSync(into, { recursive: true })
  }
}
