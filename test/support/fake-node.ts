/** A small HTTP server for tests of the client: it gives the test's answers and records the requests. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Heard {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers the nth request, counted from 1. */
export type Answer = (heard: Heard, nth: number, response: ServerResponse) => void

export interface FakeNode {
  readonly url: string
  readonly port: number
  readonly heard: Heard[]
  close(): Promise<void>
}

export async function startNode(answer: Answer, port = 0): Promise<FakeNode> {
  const heard: Heard[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() }
    heard.push(one)
    answer(one, heard.length, response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    heard,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function answerJson(response: ServerResponse, status: number, value: unknown, headers = {}): void {
  const body = JSON.stringify(value)
  const own = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  response.writeHead(status, { ...own, ...headers })
  response.end(body)
}

export const refuse = (
  response: ServerResponse,
  status: number,
  error: string,
  more = {},
  headers = {},
): void =>
  answerJson(response, status, { error, message: `about ${error}`, request_id: 'r-1', ...more }, headers)
