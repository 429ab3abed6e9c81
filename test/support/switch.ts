/** A proxy on one port that leads to one of several databases. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Switch {
  /** The URL of a database, with the port of the proxy. */
  urlOf(database: string): string
  /** Cuts all connections. New ones lead to this port. */
  lead(port: number): void
  /** Cuts all connections, and each new one at once, until it leads to a port again. */
  isolate(): void
  /** Number of connections that it cut because it led to no port. */
  readonly refused: number
  /** Number of connections that it led to a port. */
  readonly led: number
  close(): Promise<void>
}

export async function startSwitch(first: number): Promise<Switch> {
  let target: number | undefined = first
  let refused = 0
  let led = 0
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    if (target === undefined) {
      refused += 1
      near.destroy()
      return
    }
    led += 1
    const far = connect(target, '127.0.0.1')
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
    near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const cutAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    urlOf(database) {
      const url = new URL(database)
      url.port = String(port)
      return url.href
    },
    lead(next) {
      target = next
      cutAll()
    },
    isolate() {
      target = undefined
      cutAll()
    },
    get refused() {
      return refused
    },
    get led() {
      return led
    },
    async close() {
      cutAll()
      server.close()
      await once(server, 'close')
    },
  }
}
