/** Raw bytes to and from a server, for requests that no client would send. */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/**
 * Sends exactly these bytes and reads until the server closes. If the server never closes, the test's time
 * limit fails the test.
 */
export async function exchangeBytes(baseUrl: string, bytes: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'end')
  // This side stays open: the server must close the connection without the client's help.
  await new Promise<void>((resolve) => {
    const probe = setInterval(() => socket.write('x'), 50)
    socket.once('close', () => {
      clearInterval(probe)
      resolve()
    })
  })
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  return { status: Number(head.split(' ')[1]), head, body }
}
