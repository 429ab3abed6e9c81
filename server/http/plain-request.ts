/**
 * Ignores `Upgrade` on all requests except the one that opens the socket.
 *
 * A server may ignore `Upgrade` (RFC 9110 §7.8), and clients send it unasked: `curl --http2` and Java's
 * HttpClient offer `h2c` with every first request. Node decides by the request's `upgrade` property, in every
 * version that the server supports. Its option `shouldUpgradeCallback` is newer than the oldest supported
 * version.
 *
 * Contract §2.
 */
import { IncomingMessage } from 'node:http'
import { contract } from '../../sdk/contract/index.ts'

const { method, path } = contract.streams.socket
const offered = Symbol('whether the client offers to leave HTTP')

export class PlainRequest extends IncomingMessage {
  declare [offered]: boolean

  /** Node assigns the parser's result before it reads the property. */
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
