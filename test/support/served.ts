/** The node's side of connections, where it runs in this process: to see what it reads, or to fill them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Socket } from 'node:net'

export interface Served {
  /** The other side of a client's socket, once it is connected. */
  of(client: Socket): Promise<Socket>
  stop(): void
}

const channel = 'net.server.socket'

/** Of the connections that are made from now on. */
export function watchServed(): Served {
  /** With the client's port, which a closed socket forgets. */
  const found: { readonly port: number | undefined; readonly socket: Socket }[] = []
  const note = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket }
    found.push({ port: socket.remotePort, socket })
  }
  subscribe(channel, note)
  return {
    async of(client) {
      if (client.pending || client.connecting) await once(client, 'connect')
      for (;;) {
        const side = found.findLast(({ port }) => port === client.localPort)
        if (side !== undefined) return side.socket
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    stop: () => unsubscribe(channel, note),
  }
}
