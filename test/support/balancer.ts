/**
 * A load balancer without affinity: each new connection goes to the next node that accepts it. It looks at no
 * byte, so a node that drains has to close its connections itself.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Balancer {
  readonly url: string
  /** Connections that each port has taken, in the order of `ports`. */
  readonly taken: readonly number[]
  close(): Promise<void>
}

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  const taken = ports.map(() => 0)
  let turn = 0
  const server = createServer({ allowHalfOpen: true }, (near) => {
    open.add(near)
    near.on('error', () => near.destroy()).on('close', () => open.delete(near))
    // Held until a node has accepted the connection.
    near.pause()
    turn += 1
    offer(near, turn, ports.length)
  })
  const offer = (near: Socket, start: number, left: number) => {
    const index = start % ports.length
    const far = connect({ port: ports[index] ?? 0, host: '127.0.0.1', allowHalfOpen: true })
    let isTaken = false
    open.add(far)
    far.on('close', () => {
      open.delete(far)
      if (isTaken || left === 1) near.destroy()
      else offer(near, start + 1, left - 1)
    })
    far.on('error', () => far.destroy())
    far.on('connect', () => {
      isTaken = true
      taken[index] = (taken[index] ?? 0) + 1
      near.on('close', () => far.destroy())
      near.pipe(far)
      far.pipe(near)
    })
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    async close() {
      server.close()
      for (const socket of open) socket.destroy()
      await once(server, 'close')
    },
  }
}
