/**
 * The listener for HTTP, and for HTTPS where there is a certificate: what both bound and ignore of a connection before
 * there is a request.
 */
import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Certificate } from '../host/listening/certificate.ts'
import { PlainRequest } from './plain-request.ts'

export const maxHeaderBytes = 16 * 1024

const options = {
  IncomingMessage: PlainRequest,
  headersTimeout: 10_000,
  // A slow body is cut by the raw body's own rule, since a part of a package may take its time.
  requestTimeout: 0,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: maxHeaderBytes,
  // Refused by the framing check, with a body that says why.
  requireHostHeader: false,
}

const secureOptions = { handshakeTimeout: 10_000, allowHalfOpen: true }

export function createListener(handler: RequestListener, certificate: Certificate | undefined): Server {
  const server =
    certificate === undefined
      ? createPlain(options)
      : createSecure({ ...options, ...secureOptions, cert: certificate.cert, key: certificate.key })
  // A client that ends its side still gets its answers. Node's types do not know the property.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Node drops headers beyond this count in silence; without it our own limit sees them all.
  server.maxHeadersCount = 0
  server.on('request', handler)
  // Node would invite the body of `Expect: 100-continue` before anybody looked at the head.
  server.on('checkContinue', handler)
  // And would refuse any other expectation without a body; the framing check does.
  server.on('checkExpectation', handler)
  return server
}
