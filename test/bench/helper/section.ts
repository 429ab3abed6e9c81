/**
 * The transfer helper: download, parts, whole upload, readiness, memory.
 *
 * Bytes lie in the page cache on both sides; floor and product take turns. One empty part of the file system is used for
 * every round, so that no round finds the blocks of another.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manifestText, type TransferMode } from '../../../sdk/contract/helper/manifest.ts'
import { describeFile } from '../../../sdk/transfers/manifest.ts'
import { program } from '../../support/program.ts'
import { filled } from '../payload.ts'
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

/** The helper as it is published, over a root of its own. */
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
  // Depends most on noise: the best of three medians counts.
  for (let group = 0; group < 3; group += 1) {
    const floor: number[] = []
    const product: number[] = []
    for (let round = 0; round < bench.rounds * 3; round += 1) {
      floor.push(emptyNodeMs())
      const helper = await startHelper(bench, 'download', root, small)
      product.push(helper.readyMs)
      await helper.end()
    }
    floors.push(median(floor))
    products.push(median(product))
  }
  const best = (values: readonly number[]): number[] => [Math.min(...values)]
  yield row(
    'helper: start to readiness line, against node -e 0',
    'ms',
    { product: best(products), floor: best(floors) },
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
  const rateOf = async (port: number): Promise<number> => {
    const { ms, received } = await runClient<Fetched>('fetch-file.mjs', port, helper.token)
    if (received < bench.size) throw new Error(`only ${received} bytes came`)
    return bench.size / 1000 / ms
  }
  const memory = watchMemory(helper.pid)
  for (let round = 0; round < bench.rounds; round += 1) {
    rates.floor.push(await rateOf(floor.port))
    rates.product.push(await rateOf(helper.port))
    if (nginx !== undefined) rates.nginx.push(await rateOf(nginx.port))
  }
  const growth = memory()
  await Promise.all([helper.end(), floor.end(), nginx?.end()])
  yield row('helper: GET /v1/file, against a reused buffer of 1 MiB', 'MB/s', rates, { atLeast: 0.7 })
  if (nginx === undefined) yield 'nginx is not installed: no comparison with sendfile'
  else
    yield row(
      'helper: the same beside nginx with sendfile',
      'MB/s',
      { product: rates.product, floor: rates.nginx },
      'for comparison',
    )
  yield bounded('helper: growth of memory while it serves, bound 32 MiB', 'MiB', [growth], 32)
}

interface Sent {
  readonly parts: number
  readonly finalize: number
}

async function* upload(bench: Bench): AsyncGenerator<Row> {
  const parts = { product: [] as number[], floor: [] as number[] }
  const whole = { product: [] as number[], floor: [] as number[] }
  const growth: number[] = []
  const keep = (kind: 'product' | 'floor', sent: Sent): void => {
    parts[kind].push(bench.size / 1000 / sent.parts)
    whole[kind].push(bench.size / 1000 / (sent.parts + sent.finalize))
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

async function floorUpload({ file, size }: Bench, root: string): Promise<Sent> {
  const floor = await startProgram([beside('floor-upload.mjs'), root, String(size), String(partSize)])
  const sent = await runClient<Sent>('send-parts.mjs', floor.port, file, partSize, 'none')
  await floor.end()
  return sent
}

async function productUpload(bench: Bench, root: string): Promise<Sent & { readonly growth: number }> {
  const helper = await startHelper(bench, 'upload', root)
  const memory = watchMemory(helper.pid)
  const sent = await runClient<Sent>('send-parts.mjs', helper.port, bench.file, partSize, helper.token)
  const growth = memory()
  await helper.end()
  return { ...sent, growth }
}

async function inFreshFolder<T>({ folder }: Bench, act: (root: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(folder, 'root-'))
  try {
    return await act(root)
  } finally {
    rmSync(root, { recursive: true })
  }
}
