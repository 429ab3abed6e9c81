/**
 * Bounds: the node's memory, and the latency of another client, while each endpoint of the contract and the
 * owner's page are attacked.
 *
 * - Pipelined: four connections to one endpoint, two with credentials, send 1,500 requests each and read no
 *   answer.
 * - Slow: for all endpoints of a kind in parallel, requests and answers move one byte every 5 ms.
 *
 * The limits of callers are lifted, as if the attack came from many addresses and agents. The other client is
 * an agent of another project that reads its inbox.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { endpoints } from '../../../sdk/contract/index.ts'
import { Connection, percentile, requestBytes } from '../messages/connection.ts'
import { type BenchOptions, bounded, type Row, row } from '../rows.ts'
import { type End, pipeline, trickle } from './attack.ts'
import { anonymous, type Entry, type Kind, kindOf, kinds, pageOf, permitted } from './requests.ts'
import { openScene, type Scene } from './scene.ts'

const mebibyte = 1024 * 1024
/**
 * The growth over all kinds together: Node's heap takes 90 to 140 MiB before it collects, after any number of
 * kinds. Each password takes 128 MiB more while it is checked, and three are checked in parallel.
 */
const boundMiB = 160
const passwordsMiB = 3 * 128
const requests = 1500
/** More requests than the limit of a connection; the remaining ones repeat the last of these. */
const signed = 130

interface Times {
  readonly pipelinedMs: number
  readonly slowMs: number
  readonly idleMs: number
}

const quick: Times = { pipelinedMs: 15, slowMs: 150, idleMs: 600 }
const whole: Times = { pipelinedMs: 30, slowMs: 400, idleMs: 1500 }

export async function* boundsSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const times = isQuick ? quick : whole
  const scene = await openScene()
  try {
    const observer = await Observer.open(scene)
    await warm(scene, observer)
    const idle = await observer.watch(times.idleMs)
    const restMiB = observer.residentMiB()
    for (const kind of kinds) yield* rowsOf(kind, await attack(scene, observer, kind, times), idle, restMiB)
    observer.close()
  } finally {
    await scene.server.close()
  }
}

/** The measurements during one attack. */
interface Watched {
  /** Milliseconds of each read of the inbox. */
  readonly took: readonly number[]
  /** The maximum memory of the node. */
  readonly peakMiB: number
}

interface Attacked extends Watched {
  readonly name: string
  readonly grewMiB: number
}

/** Attacks every endpoint of a kind, one after the other, then all of them slowly. */
async function attack(scene: Scene, observer: Observer, kind: Kind, times: Times): Promise<Attacked[]> {
  const all: readonly Entry[] = [...endpoints, ...pageOf(scene)]
  const of = all.filter((entry) => kindOf(entry) === kind).toSorted(endsLast)
  const found: Attacked[] = []
  const beside = async (name: string, begin: () => End, ms: number) => {
    const before = observer.residentMiB()
    const end = begin()
    const watched = await observer.watch(ms)
    end()
    found.push({ name, ...watched, grewMiB: watched.peakMiB - before })
  }
  const { port } = scene.server
  for (const entry of of) {
    const lots = [lot(permitted(scene, entry)), lot(permitted(scene, entry))]
    const strangers = Buffer.concat(Array<Buffer>(requests).fill(anonymous(scene, entry)))
    await beside(entry.id, () => pipeline(port, [...lots, strangers, strangers]), times.pipelinedMs)
  }
  const single = of.flatMap((entry) => [permitted(scene, entry)(), anonymous(scene, entry)])
  await beside('slow clients', () => trickle(port, single), times.slowMs)
  return found
}

/** An endpoint that ends the session of its caller is attacked last. */
const isEnding = ({ id }: Entry): number => Number(/\.close$|sessions\.start/.test(id))
const endsLast = (one: Entry, other: Entry): number => isEnding(one) - isEnding(other)

function lot(make: () => Buffer): Buffer {
  const made = Array.from({ length: signed }, make)
  const last = made.at(-1) ?? Buffer.alloc(0)
  return Buffer.concat([...made, ...Array<Buffer>(requests - signed).fill(last)])
}

/** Reads its inbox, which is empty, with one request after the other. */
class Observer {
  readonly #scene: Scene
  readonly #connection: Connection

  private constructor(scene: Scene, connection: Connection) {
    this.#scene = scene
    this.#connection = connection
  }

  static async open(scene: Scene): Promise<Observer> {
    return new Observer(scene, await Connection.open(scene.server.port))
  }

  async watch(ms: number): Promise<Watched> {
    const took: number[] = []
    let peakMiB = this.residentMiB()
    const until = performance.now() + ms
    do {
      // The pause lets other work of this process run.
      await pause(2)
      const request = requestBytes(this.#scene.observer, { target: '/api/v1/inbox' })
      const began = performance.now()
      await this.#connection.ask(request)
      took.push(performance.now() - began)
      peakMiB = Math.max(peakMiB, this.residentMiB())
    } while (performance.now() < until)
    return { took, peakMiB }
  }

  residentMiB(): number {
    const pages = readFileSync(`/proc/${this.#scene.server.pid}/statm`, 'utf8').split(' ')[1]
    return (Number(pages) * 4096) / mebibyte
  }

  close(): void {
    this.#connection.close()
  }
}

/**
 * Ordinary clients that read in parallel: the first requests compile code, and Node's heap grows to its usual
 * size.
 */
const clients = 16

async function warm(scene: Scene, observer: Observer): Promise<void> {
  const reads = endpoints.filter((entry) => /reads|public/.test(kindOf(entry)) && entry.method === 'GET')
  const read = async () => {
    const connection = await Connection.open(scene.server.port)
    for (const entry of reads) await connection.ask(permitted(scene, entry)()).catch(() => {})
    connection.close()
  }
  await Promise.all(Array.from({ length: clients }, read))
  await observer.watch(300)
}

function* rowsOf(kind: Kind, found: readonly Attacked[], idle: Watched, restMiB: number): Generator<Row> {
  const grown = Math.max(...found.map(({ peakMiB }) => peakMiB)) - restMiB
  const greediest = worst(found, ({ grewMiB }) => grewMiB)
  const bound = kind === 'passwords' ? boundMiB + passwordsMiB : boundMiB
  yield bounded(`bounds: ${kind}, memory grew (most by ${greediest})`, 'MiB', [grown], bound)
  const slowest = worst(found, ({ took }) => Math.max(...took))
  const beside = percentile(
    found.flatMap(({ took }) => took),
    0.99,
  )
  const p99 = { product: [beside], floor: [percentile(idle.took, 0.99)] }
  yield row(`bounds: ${kind}, p99 of an inbox read (most by ${slowest})`, 'ms', p99, 'for comparison')
}

const worst = (found: readonly Attacked[], of: (each: Attacked) => number): string =>
  found.toSorted((one, other) => of(other) - of(one))[0]?.name ?? ''
