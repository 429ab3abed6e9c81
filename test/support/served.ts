/**
 * The node's side of connections, if the node runs in this process: a test observes reads there, or fills the
 * buffers.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Socket } from 'node:net'

export interface Served {
  /** Returns the server's socket for a client's socket, once it is connected. */
  of(client: Socket): Promise<Socket>
  stop(): void
}

const channel = 'net.server.socket'

/** Watches the connections made from now on. */
export function watchServed(): Served {
  /** Stored with the client's port, because a closed socket forgets it. */
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
