/**
 * Closes connections on which no further request is answered.
 *
 * A close while bytes of the client are unread resets the connection, and a client that still sends would
 * lose the answer. Such a client gets a second to read it. RFC 9112 §9.6.
 */
import type { Socket } from 'node:net'
import { type AnswerHeaders, headerLines } from './responses.ts'

/** Time that a client has to read the answer before its connection is destroyed. */
const closeMs = 1000
/** Beyond this number of closing connections a client that still sends gets no time to read the answer. */
export const mostClosing = 256

/**
 * Sends `lastBytes` and closes the connection at once, for a client that sends nothing more. The server
 * allows half-open connections, so ending only its own side would leave the socket open until the client
 * closes it.
 */
export function closeWithAnswer(socket: Socket, lastBytes: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(lastBytes, () => socket.destroy())
  destroyLater(socket)
}

const closing = new Set<Socket>()

/**
 * Sends `lastBytes`, stops reading, and destroys the connection after a second, for a client that still
 * sends.
 */
export function closeUnread(socket: Socket, lastBytes = ''): void {
  // The parser reports each further piece of what it refused.
  if (closing.has(socket)) return
  if (!socket.writable || socket.readableEnded || closing.size >= mostClosing) {
    closeWithAnswer(socket, lastBytes)
    return
  }
  closing.add(socket)
  socket.once('close', () => closing.delete(socket))
  // At once, so that no later answer gets between.
  if (lastBytes !== '') socket.pause().end(lastBytes)
  // Deferred, because a request asks its socket for one more chunk after the current one. A TLS socket that
  // has ended its side would continue to read and discard.
  setImmediate(() => socket.pause().end())
  destroyLater(socket)
}

function destroyLater(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), closeMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Returns an answer of status line and headers only. Without a request there is no error code to send. */
export const statusOnly = (status: number, headers: AnswerHeaders): string =>
  [`HTTP/1.1 ${status} `, 'connection: close', ...headerLines(headers), 'content-length: 0', '', ''].join(
    '\r\n',
  )
