/**
 * Address of the client, for the throttle and the audit log.
 *
 * `X-Forwarded-For` is used only if it comes from a trusted proxy, and is read from the right: each proxy
 * appends the address it received the request from. The first address from the right that is not a trusted
 * proxy is therefore the last one that nobody could forge.
 *
 * If the server accepts plain HTTP from proxies only, all other connections except those from loopback are
 * refused.
 */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../api-error.ts'
import type { Exposure } from '../listening/exposure.ts'

declare module 'fastify' {
  interface FastifyRequest {
    clientAddress: string
  }
}

export type ClientAddress = (raw: IncomingMessage) => string

/** @throws invalid_request, when called, for a connection that had to come through a proxy. */
export function clientAddresses({
  tls,
  trustedProxies,
}: Pick<Exposure, 'tls' | 'trustedProxies'>): ClientAddress {
  const proxies = listOf(trustedProxies)
  const loopback = listOf(['127.0.0.0/8', '::1'])
  const isProxy = (address: string) => trustedProxies.length > 0 && contains(proxies, address)
  const onlyProxies = tls === undefined && trustedProxies.length > 0
  return (raw) => {
    const peer = raw.socket.remoteAddress ?? ''
    if (!isProxy(peer)) {
      if (onlyProxies && !contains(loopback, peer)) throw notThroughProxy()
      return peer
    }
    return forwardedFor(raw, isProxy) ?? peer
  }
}

/** Returns the nearest address that is not a proxy, or undefined if the header names no valid address. */
function forwardedFor(
  { headers }: IncomingMessage,
  isProxy: (address: string) => boolean,
): string | undefined {
  const header = headers['x-forwarded-for'] ?? ''
  const hops = (Array.isArray(header) ? header.join(',') : header).split(',').map((hop) => hop.trim())
  const client = hops.findLast((hop) => !isProxy(hop))
  return client !== undefined && isIP(client) !== 0 ? client : undefined
}

function listOf(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const family = familyOf(address)
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** Checks membership. An IPv4-mapped IPv6 address counts as IPv4. */
const contains = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, familyOf(address))

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

function notThroughProxy(): ApiError {
  const problem = 'is plain HTTP from another machine, which only a trusted proxy may use'
  return new ApiError('invalid_request', {
    message: `connection: ${problem}; use the https address of the node.`,
    details: { faults: [{ path: 'connection', problem }] },
  })
}

/** Registered first, because all later checks use the address. */
export function useClientAddress(app: FastifyInstance, address: ClientAddress): void {
  app.decorateRequest('clientAddress', '')
  app.addHook('onRequest', (request, _reply, done) => {
    request.clientAddress = address(request.raw)
    done()
  })
}
