/** The number of answers to bytes on a socket, whatever their content. */
import { connect } from 'node:net'

/** Returns the statuses of all answers, in order; stops waiting one second after the last one. */
export function answersTo(url: string, bytes: string | Buffer): Promise<number[]> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ host: hostname, port: Number(port) })
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
    })
    socket.on('error', () => socket.destroy())
    socket.setTimeout(1000, () => socket.destroy())
    socket.once('close', () => resolve(statusesIn(text)))
    socket.write(bytes)
  })
}

const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)]
    .map(([, status]) => Number(status))
    .filter((status) => status !== 100)
