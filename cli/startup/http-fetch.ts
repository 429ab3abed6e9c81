/**
 * The part of `fetch` that the SDK uses, over node:http(s): it costs a third of what loading `fetch` does, and a
 * command usually makes one request.
 *
 * Redirects are handed back, never followed. An answer beyond 64 MiB is refused as the parser refuses what it cannot
 * read: no page of the contract is as long.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Fetch, FetchInit, FetchResponse } from '../../sdk/index.ts'

export interface FetchOptions {
  readonly maxAnswerBytes?: number
  /** The certificates in PEM of which the server's chain must hold one; the name in the address then does not matter. */
  readonly pinned?: string | undefined
}

/** Connections are kept while the process has something else to do; idle ones never hold it. */
export function httpFetch({ maxAnswerBytes = 64 * 1024 * 1024, pinned }: FetchOptions = {}): Fetch {
  let agents: ReturnType<typeof openAgents> | undefined
  return async (url, init) => {
    agents ??= openAgents(pinned)
    const { request, agent } = await agents(url.startsWith('https:'))
    return exchange({ request, agent, maxAnswerBytes }, url, init)
  }
}

type Request = typeof httpRequest

function openAgents(pinned: string | undefined) {
  const plain = { request: httpRequest, agent: new HttpAgent({ keepAlive: true }) }
  let secure: Promise<typeof plain> | undefined
  return async (isSecure: boolean) => {
    if (!isSecure) return plain
    // TLS is loaded only for nodes that speak it.
    secure ??= import('node:https').then(({ Agent, request }) => ({
      request: request as Request,
      agent: new Agent({ keepAlive: true, ...(pinned && pinnedTo(pinned)) }),
    }))
    return secure
  }
}

const pinnedTo = (ca: string) => ({
  ca,
  allowPartialTrustChain: true,
  checkServerIdentity: () => undefined,
})

interface Wire {
  readonly request: Request
  readonly agent: HttpAgent
  readonly maxAnswerBytes: number
}

function exchange(
  { request, agent, maxAnswerBytes }: Wire,
  url: string,
  init: FetchInit,
): Promise<FetchResponse> {
  const { method, headers, body, signal } = init
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(body.byteLength) }
    const sent = request(url, { method, headers: { ...headers, ...length }, agent, signal }, (message) => {
      resolve({
        status: message.statusCode ?? 0,
        headers: { get: (name) => headerOf(message, name) },
        body: message,
        text: () => textOf(message, maxAnswerBytes),
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function headerOf(message: IncomingMessage, name: string): string | null {
  const value = message.headers[name.toLowerCase()]
  return Array.isArray(value) ? value.join(', ') : (value ?? null)
}

async function textOf(message: IncomingMessage, maxAnswerBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of message) {
    const bytes = chunk as Buffer
    length += bytes.length
    if (length > maxAnswerBytes)
      throw Object.assign(new Error('the answer is too long'), { code: 'HPE_TOO_LONG' })
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}
