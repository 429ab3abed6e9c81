/**
 * Creates the HTTP listener, or the HTTPS listener if there is a certificate, with Node's limits for
 * connections.
 */
import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Certificate } from '../listening/certificate.ts'
import { PlainRequest } from './plain-request.ts'

export const maxHeaderBytes = 16 * 1024

const options = {
  IncomingMessage: PlainRequest,
  headersTimeout: 10_000,
  // Off, because a part of a package may take longer. `raw-body.ts` closes connections with other slow
  // bodies.
  requestTimeout: 0,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: maxHeaderBytes,
  // The framing check refuses a missing Host header with an error body instead.
  requireHostHeader: false,
}

const secureOptions = { handshakeTimeout: 10_000, allowHalfOpen: true }

export function createListener(handler: RequestListener, certificate: Certificate | undefined): Server {
  const server =
    certificate === undefined
      ? createPlain(options)
      : createSecure({ ...options, ...secureOptions, cert: certificate.cert, key: certificate.key })
  // A client that ends its sending side still gets its answers. Node's types lack this property.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Node silently drops headers beyond this count. 0 removes the limit, so that our own limit sees all
  // headers.
  server.maxHeadersCount = 0
  server.on('request', handler)
  // By default Node sends `100 Continue` before the server has checked the headers.
  server.on('checkContinue', handler)
  // By default Node refuses any other expectation without an error body. The framing check refuses it with
  // one.
  server.on('checkExpectation', handler)
  return server
}
