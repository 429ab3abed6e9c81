/**
 * The transfer helper: download, parts, complete upload, readiness, memory.
 *
 * Bytes are in the page cache on both sides; floor and product alternate. Every round uses the same empty
 * part of the file system, so that no round finds the blocks of another.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manifestText, type TransferMode } from '../../../sdk/contract/helper/manifest.ts'
import { describeFile } from '../../../sdk/transfers/wire/manifest.ts'
import { program } from '../../support/program.ts'
import { filled } from '../payload.ts'
import { childrenMs, costing, noCosts, processMs } from '../processor.ts'
import { type BenchOptions, bounded, median, type Row, row } from '../rows.ts'
import { hasNginx, startNginx } from './nginx.ts'
import { beside, emptyNodeMs, type Running, runClient, startProgram, watchMemory } from './programs.ts'

const MiB = 1024 * 1024
const partSize = 64 * MiB

interface Bench {
  readonly folder: string
  readonly file: string
  readonly size: number
  readonly rounds: number
}

export async function* helperSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-helper-'))
  try {
    const size = (isQuick ? 128 : 1024) * MiB
    const file = filled(join(folder, 'payload.bin'), size)
    const bench = { folder, file, size, rounds: isQuick ? 2 : 5 }
    yield* readiness(bench)
    yield* download(bench)
    yield* upload(bench)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Helper extends Running {
  readonly token: string
}

/** Starts the published helper with a separate root. */
async function startHelper(
  bench: Bench,
  mode: TransferMode,
  root: string,
  file = bench.file,
): Promise<Helper> {
  const manifest = await describeFile(file, {
    transferId: randomBytes(8).toString('hex'),
    mode,
    filename: 'payload.bin',
    partSize,
  })
  const path = join(bench.folder, `${mode}.json`)
  writeFileSync(path, manifestText(manifest), { mode: 0o600 })
  const token = randomBytes(32).toString('base64url')
  const args = [program, 'helper', '--manifest', path, '--root', root, '--max-bytes', String(10 * 1024 * MiB)]
  return { ...(await startProgram(args, { SERVICE_TRANSFER_TOKEN: token })), token }
}

async function* readiness(bench: Bench): AsyncGenerator<Row> {
  const root = join(bench.folder, 'small')
  mkdirSync(root)
  const small = join(root, 'payload.bin')
  writeFileSync(small, randomBytes(1000), { mode: 0o600 })
  const floors: number[] = []
  const products: number[] = []
  const costs = noCosts()
  // This figure depends most on noise, so the best of three medians counts.
  for (let group = 0; group < 3; group += 1) {
    const floor: number[] = []
    const product: number[] = []
    for (let round = 0; round < bench.rounds * 3; round += 1) {
      const empty = await costing(childrenMs, emptyNodeMs)
      floor.push(empty.result)
      costs.floor.push(empty.cpuMs * 1000)
      const started = await costing(childrenMs, async () => {
        const helper = await startHelper(bench, 'download', root, small)
        await helper.end()
        return helper.readyMs
      })
      product.push(started.result)
      costs.product.push(started.cpuMs * 1000)
    }
    floors.push(median(floor))
    products.push(median(product))
  }
  const best = (values: readonly number[]): number[] => [Math.min(...values)]
  yield row(
    'helper: start to readiness line, against node -e 0',
    'ms',
    { product: best(products), floor: best(floors), costs },
    { atMost: 2 },
  )
}

interface Fetched {
  readonly ms: number
  readonly received: number
}

async function* download(bench: Bench): AsyncGenerator<Row | string> {
  const helper = await startHelper(bench, 'download', bench.folder)
  const floor = await startProgram([beside('floor-download.mjs'), bench.file])
  const nginx = hasNginx() ? await startNginx(bench.folder, bench.file) : undefined
  const rates = { product: [] as number[], floor: [] as number[], nginx: [] as number[] }
  const costs = { product: [] as number[], floor: [] as number[], nginx: [] as number[] }
  const keep = async (side: keyof typeof rates, { port, pid }: Running): Promise<void> => {
    const fetch = () => runClient<Fetched>('fetch-file.mjs', port, helper.token)
    const { result, cpuMs } = await costing(() => processMs(pid), fetch)
    if (result.received < bench.size) throw new Error(`only ${result.received} bytes came`)
    rates[side].push(bench.size / 1000 / result.ms)
    costs[side].push((cpuMs * 1e9) / bench.size)
  }
  const memory = watchMemory(helper.pid)
  for (let round = 0; round < bench.rounds; round += 1) {
    await keep('floor', floor)
    await keep('product', helper)
    if (nginx !== undefined) await keep('nginx', nginx)
  }
  const growth = memory()
  await Promise.all([helper.end(), floor.end(), nginx?.end()])
  yield row(
    'helper: GET /v1/file, against a reused buffer of 1 MiB',
    'MB/s',
    { ...rates, costs },
    { atLeast: 0.7 },
  )
  if (nginx === undefined) yield 'nginx is not installed: no comparison with sendfile'
  else
    yield row(
      'helper: the same beside nginx with sendfile',
      'MB/s',
      { product: rates.product, floor: rates.nginx, costs: { product: costs.product, floor: costs.nginx } },
      'for comparison',
    )
  yield bounded('helper: growth of memory while it serves, bound 32 MiB', 'MiB', [growth], 32)
}

interface Sent {
  readonly parts: number
  readonly finalize: number
}

interface Upload extends Sent {
  readonly cpuMs: number
}

async function* upload(bench: Bench): AsyncGenerator<Row> {
  const parts = { product: [] as number[], floor: [] as number[] }
  const whole = { product: [] as number[], floor: [] as number[], costs: noCosts() }
  const growth: number[] = []
  const keep = (kind: 'product' | 'floor', sent: Upload): void => {
    parts[kind].push(bench.size / 1000 / sent.parts)
    whole[kind].push(bench.size / 1000 / (sent.parts + sent.finalize))
    whole.costs[kind].push((sent.cpuMs * 1e9) / bench.size)
  }
  for (let round = 0; round < bench.rounds; round += 1) {
    keep('floor', await inFreshFolder(bench, async (root) => floorUpload(bench, root)))
    const sent = await inFreshFolder(bench, async (root) => productUpload(bench, root))
    keep('product', sent)
    growth.push(sent.growth)
  }
  yield row('helper: PUT of parts, against in place with hash and sync', 'MB/s', parts, { atLeast: 0.85 })
  yield row('helper: whole upload with finalize, against the same', 'MB/s', whole, { atLeast: 0.85 })
  yield bounded('helper: growth of memory while it receives, bound 32 MiB', 'MiB', growth, 32)
}

async function floorUpload({ file, size }: Bench, root: string): Promise<Upload> {
  const floor = await startProgram([beside('floor-upload.mjs'), root, String(size), String(partSize)])
  const send = () => runClient<Sent>('send-parts.mjs', floor.port, file, partSize, 'none')
  const { result, cpuMs } = await costing(() => processMs(floor.pid), send)
  await floor.end()
  return { ...result, cpuMs }
}

async function productUpload(bench: Bench, root: string): Promise<Upload & { readonly growth: number }> {
  const helper = await startHelper(bench, 'upload', root)
  const memory = watchMemory(helper.pid)
  const send = () => runClient<Sent>('send-parts.mjs', helper.port, bench.file, partSize, helper.token)
  const { result, cpuMs } = await costing(() => processMs(helper.pid), send)
  const growth = memory()
  await helper.end()
  return { ...result, cpuMs, growth }
}

async function inFreshFolder<T>({ folder }: Bench, act: (root: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(folder, 'root-'))
  try {
    return await act(root)
  } finally {
    rmSync(root, { recursive: true })
  }
}
