/** Ending a connection that has no request to answer, or whose request does not come to its end. */
import type { Socket } from 'node:net'
import { type AnswerHeaders, headerLines } from './responses.ts'

/** How long a client that is refused before its request may take to read why. */
const letGoMs = 1000

/**
 * Sends what is left to say and closes. The server keeps half-open connections, so ending its own side alone would leave
 * the socket to the client for ever.
 */
export function letGo(socket: Socket, lastWords: string): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(lastWords, () => socket.destroy())
  const timer = setTimeout(() => socket.destroy(), letGoMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Where there is no request, and so no code: the status line is all that a broken client needs. */
export const statusOnly = (status: number, headers: AnswerHeaders): string =>
  [`HTTP/1.1 ${status} `, 'connection: close', ...headerLines(headers), 'content-length: 0', '', ''].join(
    '\r\n',
  )
