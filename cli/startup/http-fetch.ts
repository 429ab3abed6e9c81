/**
 * The part of `fetch` that the SDK uses, over node:http(s). Loading node:http takes a third of the time of
 * loading `fetch`, and a command usually makes one request.
 *
 * Redirects are returned, never followed. A response over 64 MiB is refused like one that cannot be parsed;
 * no response of the contract is that long.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Fetch, FetchInit, FetchResponse } from '../../sdk/index.ts'
import { trusting } from '../../sdk/transport/authorities.ts'

export interface FetchOptions {
  readonly maxAnswerBytes?: number
  /** Certificates in PEM. The server's chain must contain one of them; its host name is then not checked. */
  readonly pinned?: string | undefined
  /** Certificate authority in PEM to trust besides those of the process. */
  readonly ca?: string | undefined
}

/** Returns a fetch that reuses its connections. Idle connections do not keep the process alive. */
export function httpFetch({ maxAnswerBytes = 64 * 1024 * 1024, pinned, ca }: FetchOptions = {}): Fetch {
  let agents: ReturnType<typeof openAgents> | undefined
  return async (url, init) => {
    agents ??= openAgents(pinned, ca)
    const { request, agent } = await agents(url.startsWith('https:'))
    return exchange({ request, agent, maxAnswerBytes }, url, init)
  }
}

type Request = typeof httpRequest

function openAgents(pinned: string | undefined, ca: string | undefined) {
  const plain = { request: httpRequest, agent: new HttpAgent({ keepAlive: true }) }
  let secure: Promise<typeof plain> | undefined
  return async (isSecure: boolean) => {
    if (!isSecure) return plain
    // node:https is loaded only for https addresses.
    secure ??= import('node:https').then(async ({ Agent, request }) => {
      const trust = pinned === undefined ? await trusting(ca) : pinnedTo(pinned)
      return { request: request as Request, agent: new Agent({ keepAlive: true, ...trust }) }
    })
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
    sent.on('upgrade', (_message, socket) => {
      socket.destroy()
      reject(Object.assign(new Error('the answer changes the protocol'), { code: 'HPE_UPGRADE' }))
    })
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
