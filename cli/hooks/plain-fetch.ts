/**
 * The part of `fetch` that a hook uses at a node with plain http: one request on a connection of its own, over
 * node:net. With node:http it would take 6 ms more processor time, of 60 that the hooks of a turn may take:
 * docs/decisions/020.
 *
 * It reads only the form in which a node answers. Any other response counts as a lost connection: the client then signs
 * and sends the request again, over node:http, which judges the response.
 */
import { connect } from 'node:net'
import type { Fetch, FetchInit, FetchResponse } from '../../sdk/index.ts'
import { type Head, headOf, lost, responseOf } from './http-answer.ts'

/** Returns a fetch for addresses that begin with `http:`. `over` opens the one that takes over after a failure. */
export function plainFetch(over: () => Promise<Fetch>): Fetch {
  let isPlain = true
  let other: Promise<Fetch> | undefined
  return async (url, init) => {
    const { hostname, port, host, pathname, search } = new URL(url)
    const lines = requestLines(`${init.method} ${pathname}${search} HTTP/1.1`, host, init)
    if (!isPlain || lines.some((line) => /[^\t\x20-\x7e]/.test(line))) {
      other ??= over()
      return (await other)(url, init)
    }
    // A URL has an IPv6 address in brackets.
    const at = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80) }
    try {
      return await exchange(at, [`${lines.join('\r\n')}\r\n\r\n`, init.body ?? ''], init.signal)
    } catch (error) {
      isPlain = false
      throw error
    }
  }
}

function requestLines(first: string, host: string, { headers, body }: FetchInit): string[] {
  const length = body === undefined ? {} : { 'content-length': String(body.byteLength) }
  const fields = Object.entries({ host, ...headers, ...length, connection: 'close' })
  return [first, ...fields.map(([name, value]) => `${name}: ${value}`)]
}

interface Place {
  readonly host: string
  readonly port: number
}

type Parts = readonly (string | Uint8Array)[]

function exchange(at: Place, request: Parts, signal: AbortSignal): Promise<FetchResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const socket = connect(at)
    const chunks: Buffer[] = []
    let length = 0
    let head: Head | undefined
    signal.addEventListener('abort', () => socket.destroy(signal.reason as Error), { once: true })
    socket.on('error', reject)
    socket.on('end', () => socket.destroy(lost()))
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      try {
        head ??= headOf(Buffer.concat(chunks))
      } catch (error) {
        socket.destroy(error as Error)
      }
      if (head === undefined || length < head.responseLength) return
      resolve(responseOf(head, Buffer.concat(chunks)))
      socket.destroy()
    })
    for (const part of request) socket.write(part)
  })
}
