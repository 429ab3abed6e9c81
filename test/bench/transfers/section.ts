/**
 * Files through the package store and directly between machines, and their effect on other agents.
 *
 * Bytes are in the page cache at the start; product and floor alternate, each round in a new folder.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { watchResident } from '../helper/programs.ts'
import { filled } from '../payload.ts'
import { childrenMs, costing, noCosts, processMs } from '../processor.ts'
import { type BenchOptions, bounded, type Row, row } from '../rows.ts'
import { quantile, talking } from './latency.ts'
import { BenchNode } from './node.ts'
import { hasWormhole, startWormhole } from './wormhole.ts'

const MiB = 1024 * 1024

interface Payload {
  readonly file: string
  readonly size: number
}

interface Bench {
  readonly node: BenchNode
  readonly folder: string
  readonly rounds: number
}

export async function* transfersSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-transfers-'))
  const node = await BenchNode.start()
  try {
    for (const name of ['ann', 'bob']) await node.profile(name)
    const payload = (name: string, mebibytes: number): Payload => {
      const size = mebibytes * MiB
      return { file: filled(join(folder, name), size), size }
    }
    const bench = { node, folder, rounds: isQuick ? 2 : 5 }
    yield* throughTheStore(bench, payload('whole.bin', isQuick ? 128 : 1024))
    const half = payload('half.bin', isQuick ? 64 : 512)
    // Sealing runs at the speed of one processor for any size.
    const few = { ...bench, rounds: isQuick ? 1 : bench.rounds }
    yield* fromMachineToMachine(few, half, payload('sealed.bin', isQuick ? 16 : 128))
    yield* eightAtOnce(few, payload('eighth.bin', isQuick ? 32 : 64), isQuick ? 2500 : 5000)
  } finally {
    await node.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Upload, verify, download, verify; each half is a separate command. */
async function* throughTheStore(bench: Bench, { file, size }: Payload): AsyncGenerator<Row> {
  const { node, rounds } = bench
  const rates = { product: [] as number[], floor: [] as number[], costs: noCosts() }
  const keep = async (side: 'product' | 'floor', act: (into: string) => Promise<number>): Promise<void> => {
    const { result, cpuMs } = await costing(usedMs(node), () => inFreshFolder(bench, act))
    rates[side].push(size / 1000 / result)
    rates.costs[side].push((cpuMs * 1e9) / size)
  }
  for (let round = 0; round < rounds; round += 1) {
    await keep('floor', (into) => floorMs(file, into))
    await keep('product', (into) => storeMs(node, file, into))
  }
  const figure = `transfers: ${size / MiB} MiB through the store, against two synced copies`
  yield row(figure, 'MB/s', rates, { atLeast: 0.4 })
}

/** The processor time of the node, and of the programs that send and receive. */
const usedMs =
  ({ server }: BenchNode) =>
  (): number =>
    processMs(server.pid) + childrenMs()

async function floorMs(file: string, into: string): Promise<number> {
  const began = performance.now()
  const floor = spawn(process.execPath, [join(import.meta.dirname, 'floor-twice.mjs'), file, into], {
    stdio: 'inherit',
  })
  const [code] = await once(floor, 'close')
  if (code !== 0) throw new Error('the floor failed')
  return performance.now() - began
}

async function storeMs(node: BenchNode, file: string, into: string): Promise<number> {
  const began = performance.now()
  const sent = await node.run([...sending(file), '--no-encrypt', '--json'])
  const { id } = JSON.parse(sent.stdout) as { id: string }
  await node.run(receiving(id, into))
  return performance.now() - began
}

const sending = (file: string) => ['transfer', 'send', file, '--to', 'bob', '--profile', 'ann']

const receiving = (id: string, into: string) => [
  ...['transfer', 'receive', id, '--output', join(into, 'received'), '--profile', 'bob'],
]

/**
 * Both encrypt and verify the bytes; the product is also measured without sealing, behind a tunnel that
 * encrypts.
 */
async function* fromMachineToMachine(
  bench: Bench,
  plain: Payload,
  sealed: Payload,
): AsyncGenerator<Row | string> {
  const { node, folder, rounds } = bench
  if (!hasWormhole()) {
    yield 'transfers: magic-wormhole and python3-magic-wormhole-mailbox-server are not installed: no comparison'
    return
  }
  await node.run(['key', 'create', '--profile', 'bob'])
  const wormhole = await startWormhole(folder)
  const rates = { plain: [] as number[], sealed: [] as number[], wormhole: [] as number[] }
  const costs = { plain: [] as number[], sealed: [] as number[], wormhole: [] as number[] }
  const keep = async (
    kind: keyof typeof rates,
    { size }: Payload,
    act: (into: string) => Promise<number>,
  ): Promise<void> => {
    const { result, cpuMs } = await costing(usedMs(node), () => inFreshFolder(bench, act))
    rates[kind].push(size / 1000 / result)
    costs[kind].push((cpuMs * 1e9) / size)
  }
  try {
    for (let round = 0; round < rounds; round += 1) {
      await keep('wormhole', plain, (into) => wormhole.send(plain.file, into))
      await keep('plain', plain, (into) => directMs(node, plain.file, into, '--no-encrypt'))
      await keep('sealed', sealed, (into) => directMs(node, sealed.file, into, '--encrypt'))
    }
  } finally {
    await wormhole.end()
  }
  const figure = `transfers: ${plain.size / MiB} MiB directly over loopback, beside magic-wormhole`
  const beside = (kind: 'plain' | 'sealed') => ({
    product: rates[kind],
    floor: rates.wormhole,
    costs: { product: costs[kind], floor: costs.wormhole },
  })
  yield row(figure, 'MB/s', beside('plain'), { atLeast: 1 })
  yield row(
    `transfers: ${sealed.size / MiB} MiB directly, sealed with age and opened`,
    'MB/s',
    beside('sealed'),
    'for comparison',
  )
}

/** The time from the start of the sender to the exit of the recipient, which starts after the offer. */
async function directMs(node: BenchNode, file: string, into: string, ...more: string[]): Promise<number> {
  const began = performance.now()
  const offered = Promise.withResolvers<string>()
  const onError = (text: string) => {
    const id = /offered as ([0-9a-f-]{36})/.exec(text)?.[1]
    if (id !== undefined) offered.resolve(id)
  }
  // With --json, notes show whole ids.
  const sender = node.run([...sending(file), '--json', '--direct', '--allow-plain', ...more], { onError })
  const id = await Promise.race([offered.promise, sender.then(({ stderr }) => stderr)])
  await node.run([...receiving(id, into), '--allow-plain'])
  const ms = performance.now() - began
  await sender
  return ms
}

/**
 * The effect on others: memory of the server, and messages while eight files are transferred in parallel, up
 * and down.
 */
async function* eightAtOnce(bench: Bench, { file }: Payload, idleMs: number): AsyncGenerator<Row> {
  const { node } = bench
  const [from, to] = [await node.bridge('cleo'), await node.bridge('dan')]
  const talk = await talking(from, to, 'dan')
  const p99 = { product: [] as number[], floor: [] as number[] }
  const p50 = { product: [] as number[], floor: [] as number[] }
  const memory = watchResident(node.server.pid)
  try {
    for (let round = 0; round < bench.rounds; round += 1) {
      talk.take()
      await pause(idleMs)
      const idle = talk.take()
      // Repeats until it has the same number of messages.
      do {
        await inFreshFolder(bench, (into) => eight(bench, file, into))
      } while (talk.size < idle.length)
      const busy = talk.take()
      for (const [share, both] of [
        [0.5, p50],
        [0.99, p99],
      ] as const) {
        both.floor.push(quantile(idle, share))
        both.product.push(quantile(busy, share))
      }
    }
  } finally {
    await talk.end()
    await Promise.all([from.close(), to.close()])
  }
  const figure = 'transfers: send to receive over a socket during eight'
  yield row(`${figure}, p99 against idle`, 'ms', p99, { atMost: 3 })
  yield row(`${figure}, p50 against idle`, 'ms', p50, 'for comparison')
  yield bounded('transfers: memory of the server during eight, bound 200 MiB', 'MiB', [memory.end()], 200)
}

async function eight({ node }: Bench, file: string, into: string): Promise<void> {
  const script = join(import.meta.dirname, 'eight.ts')
  const load = spawn(process.execPath, [script, node.home, 'ann', 'bob', file, into, '8'], {
    stdio: 'inherit',
  })
  const [code] = await once(load, 'close')
  if (code !== 0) throw new Error('eight transfers at once failed')
}

async function inFreshFolder<T>({ folder }: Bench, act: (into: string) => Promise<T>): Promise<T> {
  const into = mkdtempSync(join(folder, 'into-'))
  try {
    return await act(into)
  } finally {
    rmSync(into, { recursive: true })
  }
}
