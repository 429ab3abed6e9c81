/**
 * Sends prebuilt requests at a fixed pace, independently of the answers: the sender's own cost must not be
 * measured.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Sent {
  /** In milliseconds of the machine's clock, as all times whose name ends in `At`. */
  readonly beganAt: number
  readonly sentAt: readonly number[]
  readonly lastSentMs: number
  readonly lastStoredMs: number
}

const connections = 50
const everyMs = 10

/**
 * Spreads the requests evenly over the time. Resolves when each was answered with 200; any other answer
 * fails.
 */
export async function sendAll(port: number, requests: readonly Buffer[], overMs: number): Promise<Sent> {
  const sockets = Array.from({ length: Math.min(connections, requests.length) }, () =>
    connect(port, '127.0.0.1'),
  )
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const answered = answersOf(sockets, requests.length)
  const sentAt: number[] = []
  const beganAt = now()
  try {
    while (sentAt.length < requests.length) {
      // The last tick fires before the time ends.
      const due = Math.ceil((requests.length * (now() - beganAt + everyMs)) / (overMs - 2 * everyMs))
      for (let index = sentAt.length; index < Math.min(due, requests.length); index += 1) {
        sockets[index % sockets.length]?.write(requests[index] as Buffer)
        sentAt.push(now())
      }
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    await answered
    return { beganAt, sentAt, lastSentMs: Math.max(...sentAt) - beganAt, lastStoredMs: now() - beganAt }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

const now = () => performance.timeOrigin + performance.now()

const statusLine = /HTTP\/1\.1 (\d{3})/g
const longestLine = 'HTTP/1.1 200'.length

/** Resolves after this many answers. */
function answersOf(sockets: readonly Socket[], count: number): Promise<void> {
  let left = count
  return new Promise((resolve, reject) => {
    for (const socket of sockets) {
      let rest = ''
      socket.on('error', reject)
      socket.on('data', (bytes) => {
        const text = rest + bytes.toString('latin1')
        let end = 0
        for (const found of text.matchAll(statusLine)) {
          if (found[1] !== '200')
            reject(new Error(`a send was answered with ${text.slice(found.index, found.index + 400)}`))
          end = found.index + longestLine
          left -= 1
        }
        rest = text.slice(Math.max(end, text.length - longestLine + 1))
        if (left === 0) resolve()
      })
    }
  })
}
