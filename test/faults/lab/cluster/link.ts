/**
 * A proxy on one port in front of a database or an object store. It cuts, delays and drops what it forwards.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Bytes that are dropped: of both directions, or only those of the far side. */
export type Dropped = 'all' | 'answers' | 'none'

export type CutTime = 'before' | 'answer'

/**
 * A word of the statement that begins each group of writes. Reads end by COMMIT too, and lack it. The statement is
 * prepared, so its text travels once in each connection.
 */
const writes = 'bridge.lanes'

export interface Link {
  readonly port: number
  /** The URL with the port of the proxy. */
  urlOf(url: string): string
  /** Cuts all connections. New ones lead to this port. */
  lead(port: number): void
  /** Cuts all connections and refuses new ones, until `open`. */
  shut(): void
  open(): void
  /**
   * Drops bytes of open and new connections, until it is called with `none`, which cuts the silenced ones.
   */
  drop(what: Dropped): void
  /** Delays bytes of the far side, and those for it if `what` is `all`. Their order stays. */
  delay(ms: number, what?: 'all' | 'answers'): void
  /** Cuts the connection that writes at its next COMMIT: before or after it is sent. */
  cutAtCommit(when: CutTime): void
  /** The number of cuts by `cutAtCommit` so far. */
  readonly cuts: number
  /** Drops bytes for the far side that contain these words, until it is called without words. */
  swallow(words?: string): void
  /** The number of times that `swallow` has dropped bytes. */
  readonly swallows: number
  /** The number of connections at the moment. */
  readonly connections: number
  close(): Promise<void>
}

interface State {
  target: number
  isOpen: boolean
  dropped: Dropped
  delayMs: number
  delayed: 'all' | 'answers'
  swallows: number
  swallowed: string | undefined
  cutting: CutTime | undefined
  cuts: number
}

export async function startLink(target: number): Promise<Link> {
  const state: State = {
    ...{ target, isOpen: true, dropped: 'none', delayMs: 0, delayed: 'all' },
    ...{ swallowed: undefined, swallows: 0, cutting: undefined, cuts: 0 },
  }
  const sockets = new Set<Socket>()
  const server = createServer((near) => join(near, state, sockets))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const cutAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    get cuts() {
      return state.cuts
    },
    get swallows() {
      return state.swallows
    },
    get connections() {
      return sockets.size / 2
    },
    urlOf(url) {
      const through = new URL(url)
      through.port = String(port)
      return through.href
    },
    lead(next) {
      state.target = next
      cutAll()
    },
    shut() {
      state.isOpen = false
      cutAll()
    },
    open() {
      state.isOpen = true
    },
    drop(what) {
      state.dropped = what
      if (what === 'none') cutAll()
    },
    delay(ms, what = 'all') {
      state.delayMs = ms
      state.delayed = what
    },
    cutAtCommit(when) {
      state.cutting = when
    },
    swallow(words) {
      state.swallowed = words
    },
    async close() {
      cutAll()
      server.close()
      await once(server, 'close')
    },
  }
}

function join(near: Socket, state: State, sockets: Set<Socket>): void {
  if (!state.isOpen) return void near.resetAndDestroy()
  const far = connect({ port: state.target, host: '127.0.0.1', noDelay: true })
  near.setNoDelay()
  let isAnswerCut = false
  let isWriter = false
  const cut = () => {
    near.destroy()
    far.destroy()
  }
  for (const socket of [near, far]) {
    sockets.add(socket)
    socket.on('error', cut).on('close', () => {
      sockets.delete(socket)
      cut()
    })
  }
  const toFar = new Way(far)
  const toNear = new Way(near)
  near.on('data', (bytes) => {
    if (state.dropped === 'all') return
    if (state.swallowed !== undefined && bytes.includes(state.swallowed)) {
      state.swallows += 1
      return
    }
    isWriter ||= bytes.includes(writes)
    if (isWriter && state.cutting !== undefined && bytes.includes('COMMIT')) {
      const when = state.cutting
      state.cutting = undefined
      state.cuts += 1
      if (when === 'before') return cut()
      isAnswerCut = true
    }
    toFar.pass(bytes, state.delayed === 'all' ? state.delayMs : 0)
  })
  far.on('data', (bytes) => {
    if (isAnswerCut) return cut()
    if (state.dropped === 'none') toNear.pass(bytes, state.delayMs)
  })
}

/** One direction of a connection. Bytes never overtake earlier ones, also when the delay becomes shorter. */
class Way {
  readonly #to: Socket
  #waiting = 0
  #passed = Promise.resolve()

  constructor(to: Socket) {
    this.#to = to
  }

  pass(bytes: Buffer, delayMs: number): void {
    if (delayMs === 0 && this.#waiting === 0) {
      this.#write(bytes)
      return
    }
    const due = sleep(delayMs)
    this.#waiting += 1
    this.#passed = this.#passed
      .then(() => due)
      .then(() => {
        this.#waiting -= 1
        this.#write(bytes)
      })
  }

  #write(bytes: Buffer): void {
    if (!this.#to.destroyed) this.#to.write(bytes)
  }
}
