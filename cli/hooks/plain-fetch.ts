/**
 * The part of `fetch` that a hook uses at a node with plain http: one request on a connection of its own, over
 * node:net.
 *
 * With node:http, each hook that asks the node takes 7 ms more processor time, of 60 that the hooks of a turn may
 * take: docs/decisions/020. Redirects are returned, never followed.
 */
import { connect } from 'node:net'
import type { Fetch, FetchInit } from '../../sdk/index.ts'
import { notHttp, responseOf, wholeLength } from './http-answer.ts'

/** Returns a fetch for addresses that begin with `http:`. */
export function plainFetch({ maxAnswerBytes = 64 * 1024 * 1024 } = {}): Fetch {
  return async (url, init) => {
    const { hostname, port, host, pathname, search } = new URL(url)
    const head = headOf(`${init.method} ${pathname}${search}`, host, init)
    // A URL has an IPv6 address in brackets.
    const at = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80), maxAnswerBytes }
    return responseOf(await exchange(at, [head, init.body ?? ''], init.signal))
  }
}

function headOf(target: string, host: string, { headers, body }: FetchInit): string {
  const length = body === undefined ? {} : { 'content-length': String(body.byteLength) }
  const fields = Object.entries({ host, ...headers, ...length, connection: 'close' })
  const lines = [`${target} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)]
  if (lines.some((line) => /[^\t\x20-\x7e]/.test(line)))
    throw new TypeError('a header has an invalid character')
  return `${lines.join('\r\n')}\r\n\r\n`
}

interface Place {
  readonly host: string
  readonly port: number
  readonly maxAnswerBytes: number
}

type Parts = readonly (string | Uint8Array)[]

/** Sends a request and returns all bytes of its response, which are fewer if the connection ends before. */
function exchange(at: Place, request: Parts, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const socket = connect(at)
    const chunks: Buffer[] = []
    let length = 0
    let whole: number | undefined
    const done = () => {
      resolve(Buffer.concat(chunks))
      socket.destroy()
    }
    signal.addEventListener('abort', () => socket.destroy(signal.reason as Error), { once: true })
    socket.on('error', reject)
    socket.on('end', done)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      try {
        whole ??= wholeLength(Buffer.concat(chunks))
        const announced = whole === undefined || whole === Number.POSITIVE_INFINITY ? 0 : whole
        if (Math.max(length, announced) > at.maxAnswerBytes) throw notHttp('the response is too long')
        if (whole !== undefined && length >= whole) done()
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    for (const part of request) socket.write(part)
  })
}
