/** Closes connections that have no complete request to answer. */
import type { Socket } from 'node:net'
import { type AnswerHeaders, headerLines } from './responses.ts'

/** Time that a client has to read the answer before its connection is destroyed. */
const closeMs = 1000

/**
 * Sends `lastBytes` and closes the connection within a second. The server allows half-open connections, so
 * ending only its own side would leave the socket open until the client closes it.
 */
export function closeWithAnswer(socket: Socket, lastBytes: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(lastBytes, () => socket.destroy())
  const timer = setTimeout(() => socket.destroy(), closeMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Returns an answer of status line and headers only. Without a request there is no error code to send. */
export const statusOnly = (status: number, headers: AnswerHeaders): string =>
  [`HTTP/1.1 ${status} `, 'connection: close', ...headerLines(headers), 'content-length: 0', '', ''].join(
    '\r\n',
  )
