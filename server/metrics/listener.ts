/**
 * The metrics port: serves `GET /metrics` on loopback only.
 *
 * - It requires no credential, so it serves programs of this machine only. A web page in a local browser must
 *   not read it: a request with another Host, or one that a page sent, is refused.
 * - Concurrent scrapes share one collection.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLoopback, urlOf } from '../listening/exposure.ts'
import type { Meters } from './meters.ts'

export interface MetricsAddress {
  readonly host: string
  readonly port: number
}

export interface ScrapeListener {
  readonly url: string
  close(): Promise<void>
}

const maxConnections = 16

/** @throws the errors of `listen`, such as EADDRINUSE */
export async function listenForScrapes(
  { host, port }: MetricsAddress,
  meters: Pick<Meters, 'text' | 'contentType'>,
): Promise<ScrapeListener> {
  let reading: Promise<string> | undefined
  const read = () => {
    reading ??= meters.text().finally(() => {
      reading = undefined
    })
    return reading
  }
  const server = createServer(limits, (request, response) => {
    answer(request, response, { read, contentType: meters.contentType }).catch(() =>
      refuse(response, 500, 'the metrics could not be read; see the log'),
    )
  })
  server.maxConnections = maxConnections
  await listening(server, host, port)
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `${urlOf('http', host, bound)}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const limits = {
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8 * 1024,
}

const listening = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })

interface Scrape {
  read(): Promise<string>
  readonly contentType: string
}

async function answer(request: IncomingMessage, response: ServerResponse, scrape: Scrape): Promise<void> {
  // Discards the request's body.
  request.resume()
  if (!isLocal(request))
    return refuse(response, 403, 'metrics are available to programs on this machine only')
  if (request.url !== '/metrics') return refuse(response, 404, 'not found; this port serves only /metrics')
  if (request.method !== 'GET') return refuse(response.setHeader('allow', 'GET'), 405, 'only GET is allowed')
  const text = await scrape.read()
  send(response, 200, scrape.contentType, text)
}

/** Whether host and peer are loopback addresses and no web page sent the request. */
function isLocal({ headers, socket }: IncomingMessage): boolean {
  const { host = '', origin } = headers
  const site = headers['sec-fetch-site']
  const named = /^(\[[0-9a-f:]+\]|[^:]*)(:\d+)?$/i.exec(host)?.[1]?.replace(/^\[|\]$/g, '') ?? ''
  const peer = socket.remoteAddress?.replace(/^::ffff:/, '') ?? ''
  return isLoopback(named) && isLoopback(peer) && origin === undefined && (site ?? 'none') === 'none'
}

const refuse = (response: ServerResponse, status: number, text: string): void =>
  send(response, status, 'text/plain; charset=utf-8', `${text}\n`)

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}
