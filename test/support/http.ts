/** One HTTP exchange with exactly the given bytes and headers; nothing is added. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'

export interface Exchange {
  readonly method: string
  /** The request target exactly as it appears on the request line. */
  readonly target: string
  /** Name and value pairs; a name may occur twice. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string | Buffer | undefined
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly bytes: Buffer
  /** The parsed body; throws if the body is not JSON. */
  readonly json: unknown
}

const kept = new Map<string, Agent>()

/**
 * Keeps connections to this server open for the next exchange, until the returned function is called.
 * Otherwise each exchange opens its own connection, which costs as much as a small request.
 */
export function keepConnections(baseUrl: string): () => void {
  const agent = new Agent({ keepAlive: true })
  kept.set(baseUrl, agent)
  return () => {
    if (kept.get(baseUrl) === agent) kept.delete(baseUrl)
    agent.destroy()
  }
}

/** Closes kept connections after their server has stopped, so that the next exchange opens a new one. */
export function dropConnections(baseUrl: string): void {
  kept.get(baseUrl)?.destroy()
}

export function exchange(baseUrl: string, { method, target, headers = [], body }: Exchange): Promise<Reply> {
  const { protocol, hostname, port } = new URL(baseUrl)
  const request = protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const grouped: Record<string, string[]> = {}
    for (const [name, value] of headers) grouped[name] = [...(grouped[name] ?? []), value]
    if (body !== undefined && !headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))) {
      grouped['content-length'] = [String(Buffer.byteLength(body))]
    }
    const flat = Object.fromEntries(
      Object.entries(grouped).map(([name, all]) => [name, all.length === 1 ? all[0] : all]),
    )
    const host = hostname.replace(/^\[|\]$/g, '')
    const agent = kept.get(baseUrl) ?? false
    const call = request({ host, port, method, path: target, headers: flat, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const text = bytes.toString('utf8')
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          bytes,
          get json() {
            return JSON.parse(text) as unknown
          },
        })
      })
    })
    call.on('error', reject)
    call.end(body)
  })
}
