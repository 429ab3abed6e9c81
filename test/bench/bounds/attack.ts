/**
 * Two ways to fill a node's memory with unread data: pipelined requests whose answers stay unread, and single
 * bytes.
 */
import { connect, type Socket } from 'node:net'

/** Ends the attack. */
export type End = () => void

/** Sends all requests immediately and reads nothing, with one connection per lot. */
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

/** The interval at which each connection moves one byte. */
const everyMs = 5

/**
 * Half of the connections send their request byte by byte, half send it whole and read the answer byte by
 * byte.
 */
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
  // The node closes the connection, as it should.
  for (const socket of sockets) socket.on('error', () => {})
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}
