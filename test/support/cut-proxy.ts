/**
 * A proxy to a node or a helper that records every request and strikes at one of them.
 *
 * A strike occurs when a request was received but not forwarded, when half of its bytes were forwarded, or
 * when its answer arrived but was not forwarded. The connection is then closed.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transform } from 'node:stream'

export const moments = ['asked', 'half', 'answered'] as const
export type Moment = (typeof moments)[number]

export interface Strike {
  /** A request in the form of {@link Wire.asked}. */
  readonly step: string
  readonly moment: Moment
  readonly act: () => Promise<unknown>
}

export interface Wire {
  readonly port: number
  readonly url: string
  /** Each request so far, without ids, with its number among those of the same kind. */
  readonly asked: string[]
  /** The requests that are large enough to be cut in half. */
  readonly large: ReadonlySet<string>
  /** Clears the recorded requests and strikes once. Resolves after the strike. */
  arm(strike?: Strike): Promise<void>
  close(): Promise<void>
}

const largeBytes = 64 * 1024
const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

export async function openWire(targetPort: () => number): Promise<Wire> {
  const asked: string[] = []
  const large = new Set<string>()
  let armed: (Strike & { over: () => void }) | undefined

  const nameOf = ({ method, url }: IncomingMessage): string => {
    const kind = `${method} ${url?.replace(/\?.*/, '').replace(uuid, '{id}')}`
    return `${kind} #${asked.filter((name) => name.startsWith(`${kind} #`)).length + 1}`
  }

  async function struck(step: string, moment: Moment, ...cut: { destroy(): unknown }[]): Promise<boolean> {
    if (armed?.step !== step || armed.moment !== moment) return false
    const { act, over } = armed
    armed = undefined
    await act()
    for (const each of cut) each.destroy()
    over()
    return true
  }

  /** Forwards bytes; strikes once half of them were forwarded. */
  const halving = (step: string, total: number, ...cut: { destroy(): unknown }[]) => {
    let passed = 0
    return new Transform({
      transform(chunk: Buffer, _, done) {
        const before = passed
        passed += chunk.length
        const isHalf = total >= largeBytes && before < total / 2 && passed >= total / 2
        if (total >= largeBytes) large.add(step)
        if (!isHalf) return done(null, chunk)
        struck(step, 'half', ...cut).then((was) => done(null, was ? Buffer.alloc(0) : chunk), done)
      },
    })
  }

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const step = nameOf(incoming)
    asked.push(step)
    const { socket, method, url: path, headers } = incoming
    if (await struck(step, 'asked', socket)) return
    const onward = request({ host: '127.0.0.1', port: targetPort(), method, path, headers, agent: false })
    onward.on('error', () => socket.destroy())
    response.once('close', () => onward.destroy())
    incoming.pipe(halving(step, Number(headers['content-length'] ?? 0), onward, socket)).pipe(onward)
    onward.once('response', async (answer) => {
      answer.on('error', () => socket.destroy())
      if (armed?.step === step && armed.moment === 'answered') {
        await once(answer.resume(), 'end').catch(() => {})
        await struck(step, 'answered', socket)
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(halving(step, Number(answer.headers['content-length'] ?? 0), onward, socket)).pipe(response)
    })
  }

  const server = createServer((incoming, response) => {
    incoming.on('error', () => {})
    response.on('error', () => {})
    void pass(incoming, response).catch(() => incoming.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    large,
    arm(strike) {
      asked.length = 0
      if (strike === undefined) {
        armed = undefined
        return Promise.resolve()
      }
      const over = Promise.withResolvers<void>()
      armed = { ...strike, over: over.resolve }
      return over.promise
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
