/**
 * A proxy between one runner and the server that can stop a report.
 *
 * `swallows`: the report never reaches the server. `keeps`: the server has stored it, and its answer never
 * reaches the runner.
 */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type Fault = 'swallows' | 'keeps'

export interface Gate {
  readonly url: string
  /**
   * Applies the fault to later reports of results. Resolves when the first one is at the point of the fault.
   */
  arm(fault: Fault): Promise<void>
  /** Forwards everything again. */
  disarm(): void
  close(): Promise<void>
}

export async function openGate(target: string): Promise<Gate> {
  let fault: Fault | undefined
  let caught = Promise.withResolvers<void>()
  const server = createServer(async (asked, answer) => {
    const isReport = asked.method === 'POST' && asked.url?.endsWith('/complete') === true
    const armed = isReport ? fault : undefined
    const body = await buffer(asked)
    if (armed === 'swallows') return caught.resolve()
    const { method, headers } = asked
    const onward = request(new URL(asked.url ?? '/', target), { method, headers, agent: false }, (reply) => {
      if (armed !== 'keeps') return void reply.pipe(answer.writeHead(reply.statusCode ?? 502, reply.headers))
      reply.resume().once('end', () => caught.resolve())
    })
    // The runner may have exited, and the server too when the test ends.
    onward.on('error', () => answer.destroy())
    answer.once('close', () => onward.destroy())
    onward.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arm: (wanted) => {
      fault = wanted
      caught = Promise.withResolvers()
      return caught.promise
    },
    disarm: () => {
      fault = undefined
    },
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
