/** The number of answers to bytes on a socket, whatever their content. */
import { connect } from 'node:net'

/** The time for the first answer, which some bytes never get. */
const firstMs = 5000

/** Returns the statuses of all answers, in order; stops waiting if no further one arrives in time. */
export function answersTo(url: string, bytes: string | Buffer, furtherMs = 1000): Promise<number[]> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ host: hostname, port: Number(port) })
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
      socket.setTimeout(furtherMs)
    })
    socket.on('error', () => socket.destroy())
    socket.setTimeout(firstMs, () => socket.destroy())
    socket.once('close', () => resolve(statusesIn(text)))
    socket.write(bytes)
  })
}

const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)]
    .map(([, status]) => Number(status))
    .filter((status) => status !== 100)
