/**
 * A proxy between a node and its database that cuts connections. Each test asks for one cut at a time.
 */
import { connect, createServer, type Socket } from 'node:net'
import { SentStatements } from './statements-sent.ts'

export interface DatabaseProxy {
  /** The database, reached through the proxy. */
  readonly url: string
  /**
   * Cuts the connection at the next statement that contains these words: before the database runs it, or
   * after it, when its answer would arrive.
   */
  cutAt(words: string, when: 'before' | 'answer'): void
  /**
   * The same at a statement of the next group of writes, counted from 1, BEGIN and COMMIT included. Undefined
   * cancels the cut.
   */
  cutAtStatement(number: number | undefined, when: 'before' | 'answer'): void
  /**
   * Calls back before each statement of a group of writes reaches the database. If it returns false, the
   * connection is cut instead.
   */
  onStatement(arrives: (text: string) => boolean): void
  /** Discards all bytes of the connections that are open, in both directions. New connections work. */
  dropPackets(): void
  /** Cuts all connections and refuses new ones until `open` is called. */
  shut(): void
  open(): void
  /** Number of cuts that `cutAt` asked for and that happened. */
  cuts(): number
  close(): Promise<void>
}

export async function startProxy(database: string): Promise<DatabaseProxy> {
  const target = new URL(database)
  const sockets = new Set<Socket>()
  const silencers = new Set<() => void>()
  let asked: { readonly words: string; readonly when: 'before' | 'answer' } | undefined
  let askedNumber: { readonly number: number; readonly when: 'before' | 'answer' } | undefined
  let isOpen = true
  let arrives = (_text: string): boolean => true
  let cuts = 0
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const cut = () => {
      near.destroy()
      far.destroy()
    }
    let isAnswerCut = false
    let isSilent = false
    const sent = new SentStatements()
    silencers.add(() => {
      isSilent = true
    })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', cut).on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    if (!isOpen) return cut()
    near.on('data', (bytes) => {
      if (isSilent) return
      for (const message of sent.take(bytes)) {
        if (asked !== undefined && message.text?.includes(asked.words)) {
          const { when } = asked
          asked = undefined
          cuts += 1
          if (when === 'before') return cut()
          isAnswerCut = true
        }
        if (message.number !== undefined && !arrives(message.bytes.toString())) return cut()
        if (askedNumber !== undefined && message.number === askedNumber.number) {
          const { when } = askedNumber
          askedNumber = undefined
          cuts += 1
          if (when === 'before') return cut()
          isAnswerCut = true
        }
        far.write(message.bytes)
      }
    })
    far.on('data', (bytes) => {
      if (isSilent) return
      if (isAnswerCut) cut()
      else near.write(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(database)
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  const cutAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cutAt(words, when) {
      asked = { words, when }
    },
    cutAtStatement(number, when) {
      askedNumber = number === undefined ? undefined : { number, when }
    },
    onStatement(asked) {
      arrives = asked
    },
    dropPackets() {
      for (const silence of silencers) silence()
      silencers.clear()
    },
    shut() {
      isOpen = false
      cutAll()
    },
    open() {
      isOpen = true
    },
    cuts: () => cuts,
    async close() {
      cutAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
