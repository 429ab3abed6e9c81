/**
 * A node with a sender and a recipient for direct transfers. Each helper is behind a proxy that records its requests
 * and can answer in its place. Helpers and recipient run in the process of the test.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import {
  request as ask,
  createServer,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type RunningHelper, startHelper } from '../../helper/main.ts'
import { manifestText } from '../../sdk/contract/helper/manifest.ts'
import type { Bridge, ServingHelper, Transfer } from '../../sdk/index.ts'
import { type BridgeOptions, startBridge, type TestBridge } from './bridge.ts'
import { bridgeOf } from './bridges.ts'
import { describeBytes, fileOf } from './files.ts'

export const bytes = fileOf(30_000)
export const token = (letter: string) => letter.repeat(43)
export const part = (index: number) => `/v1/parts/${index}`

export interface Served {
  /** The paths requested from each endpoint, in order. */
  readonly asked: string[][]
  readonly start: () => Promise<ServingHelper>
}

export interface Door {
  /** The lifetime of the helper. */
  readonly ttlSeconds?: number
  /** The clock by which the helper expires, by default a real one. */
  readonly elapsed?: () => number
  /** The deposited expiry, if it differs from the helper's. */
  readonly expiresAt?: Date
  /** Answers a request in place of the helper if it returns true. */
  readonly instead?: (path: string, answer: ServerResponse, helper: RunningHelper) => boolean
}

/** What {@link offered} has made for a helper. */
interface Place {
  readonly manifest: string
  readonly root: string
}

class DirectStage {
  node!: TestBridge
  ada!: Bridge
  ben!: Bridge
  folder!: string
  readonly helpers: RunningHelper[] = []
  readonly #servers: Server[] = []
  readonly #giveUp: AbortController[] = []

  async open(options: BridgeOptions = {}): Promise<void> {
    this.node = await startBridge(options)
    this.ada = bridgeOf(this.node, this.node.ada)
    this.ben = bridgeOf(this.node, this.node.ben)
    this.folder = await mkdtemp(join(tmpdir(), 'bridge-direct-sdk-'))
  }

  /** A failing test leaves nothing that affects another. */
  async tidy(): Promise<void> {
    for (const each of this.#giveUp.splice(0)) each.abort()
    for (const server of this.#servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
    for (const helper of this.helpers.splice(0)) await helper.stop()
  }

  async close(): Promise<void> {
    await this.ada?.close()
    await this.ben?.close()
    await this.node?.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  readonly untilTestEnds = (): AbortController => {
    const controller = new AbortController()
    this.#giveUp.push(controller)
    return controller
  }

  /** Starts an HTTP server that ends with the test. Resolves with its address. */
  readonly listen = async (handle: RequestListener): Promise<string> => {
    const server = createServer(handle)
    this.#servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** Serves until the transfer ends; errors of a run that a failed test left behind are ignored. */
  readonly serve = (
    id: string,
    start: () => Promise<ServingHelper>,
    onDeposited?: (at: string) => void,
    sender = this.ada,
  ): Promise<Transfer> => {
    const served = sender.transfers.serve(id, start, { signal: this.untilTestEnds().signal, onDeposited })
    served.catch(() => {})
    return served
  }

  /** Makes a direct transfer of three parts, with the data that its helper needs. */
  readonly offered = async (ttlSeconds = 3600): Promise<Place & { transfer: Transfer }> => {
    const address = await this.ada.directory.address('ben')
    const input = { ...address, filename: 'report.pdf', ...describeBytes(bytes, 10_000) }
    const transfer = await this.ada.transfers.offer({
      ...input,
      mode: 'direct',
      encryption: 'none',
      ttl_seconds: ttlSeconds,
    })
    const place = join(this.folder, transfer.id)
    const root = join(place, 'root')
    await mkdir(root, { recursive: true })
    await writeFile(join(root, 'report.pdf'), bytes, { mode: 0o600 })
    const manifest = join(place, 'manifest.json')
    const { id, filename, size, sha256, parts } = transfer
    await writeFile(
      manifest,
      manifestText({ version: '1', transfer_id: id, mode: 'download', filename, size, sha256, parts }),
      { mode: 0o600 },
    )
    return { transfer, manifest, root }
  }

  /** Starts helpers one after the other, each behind a proxy that records its requests. */
  readonly serving = ({ manifest, root }: Place, each: (round: number) => Door): Served => {
    const asked: string[][] = []
    const start = async (): Promise<ServingHelper> => {
      const round = asked.push([])
      const { ttlSeconds = 60, expiresAt, instead, elapsed = () => performance.now() } = each(round)
      const given = token(String.fromCharCode(64 + round))
      const clock = { now: this.node.clock, elapsed }
      const options = { manifest, root, port: 0, ttlSeconds, maxBytes: 1e6, token: given }
      const helper = await startHelper(options, { clock })
      this.helpers.push(helper)
      const endpoint = await this.listen((request, answer) => {
        const path = request.url ?? ''
        asked[round - 1]?.push(path)
        if (instead?.(path, answer, helper) === true) return
        const headers = { authorization: request.headers.authorization ?? '' }
        const asking = ask({ host: '127.0.0.1', port: helper.readiness.port, path, headers }, (reply) => {
          answer.writeHead(reply.statusCode ?? 0, reply.headers)
          reply.pipe(answer)
        })
        asking.on('error', () => answer.destroy()).end()
      })
      return {
        endpoint,
        token: given,
        expiresAt: expiresAt?.toISOString() ?? helper.readiness.expires_at,
        ended: helper.ended,
        stop: () => helper.stop(),
      }
    }
    return { asked, start }
  }
}

/** A stage that opens and closes with the file of the test. `options` are of its node. */
export function directStage(options?: () => Promise<BridgeOptions>): DirectStage {
  const stage = new DirectStage()
  beforeAll(async () => stage.open(await options?.()))
  afterEach(() => stage.tidy())
  afterAll(() => stage.close())
  return stage
}
