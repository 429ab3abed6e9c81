/**
 * Requests that stay HTTP whatever protocol they offer, except the one that opens the socket.
 *
 * A server may ignore `Upgrade` (RFC 9110 §7.8), and clients send it unasked: `curl --http2` and Java's HttpClient offer
 * `h2c` with every first request. Node reads a request's own `upgrade` to decide, on every version that the server
 * supports; its option `shouldUpgradeCallback` is younger than the oldest of them.
 *
 * Contract §2.
 */
import { IncomingMessage } from 'node:http'
import { contract } from '../../sdk/contract/index.ts'

const { method, path } = contract.streams.socket
const offered = Symbol('whether the client offers to leave HTTP')

export class PlainRequest extends IncomingMessage {
  declare [offered]: boolean

  /** Node sets it to what the parser found before it looks at it. */
  set upgrade(value: boolean) {
    this[offered] = value
  }

  get upgrade(): boolean {
    return this[offered] && (this.method === 'CONNECT' || opensSocket(this))
  }
}

const opensSocket = (request: IncomingMessage): boolean =>
  request.method === method &&
  request.url?.split('?', 1)[0] === path &&
  request.headers.upgrade?.toLowerCase() === 'websocket'
