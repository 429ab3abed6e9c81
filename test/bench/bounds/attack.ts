/**
 * Two ways to make a node hold what nobody reads: requests in a row whose answers stay unread, and single
 * bytes.
 */
import { connect, type Socket } from 'node:net'

/** Ends what it began. */
export type End = () => void

/** Sends all of it at once and reads nothing, over a connection for each. */
export function pipeline(port: number, lots: readonly Buffer[]): End {
  return ending(
    lots.map((bytes) => {
      const socket = connect(port, '127.0.0.1')
      socket.pause()
      socket.write(bytes)
      return socket
    }),
  )
}

/** Every so often each connection moves one byte. */
const everyMs = 5

/** Half of them send their request byte by byte, half send it whole and read the answer byte by byte. */
export function trickle(port: number, requests: readonly Buffer[]): End {
  let at = 0
  const senders = requests.map((bytes) => ({ socket: connect(port, '127.0.0.1'), bytes }))
  const readers = requests.map((bytes) => {
    const onread = { buffer: Buffer.alloc(1), callback: () => false }
    const socket = connect({ port, host: '127.0.0.1', onread })
    socket.write(bytes)
    return socket
  })
  const timer = setInterval(() => {
    for (const { socket, bytes } of senders) if (at < bytes.length) socket.write(bytes.subarray(at, at + 1))
    for (const socket of readers) socket.resume()
    at += 1
  }, everyMs)
  const end = ending([...senders.map(({ socket }) => socket), ...readers])
  return () => {
    clearInterval(timer)
    end()
  }
}

function ending(sockets: readonly Socket[]): End {
  // The node closes the connection: that is what it should do.
  for (const socket of sockets) socket.on('error', () => {})
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}
