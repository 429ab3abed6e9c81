/** Ending a connection that has no request to answer, or whose request does not come to its end. */
import type { Socket } from 'node:net'

/** How long a client that is refused before its request may take to read why. */
const letGoMs = 1000

/** The server keeps half-open connections, so ending its own side would leave the socket to the client for ever. */
export function letGo(socket: Socket, status: number): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  socket.end(`HTTP/1.1 ${status} \r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, () => socket.destroy())
  const timer = setTimeout(() => socket.destroy(), letGoMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
