/** A request as `clientAddresses` reads it: the peer of the connection, and the header. */
import type { IncomingMessage } from 'node:http'
import { clientAddresses } from '../../../server/http/client-address.ts'

const files = { cert: '/c.pem', key: '/k.pem' }

export const createClientAddress =
  ({ trustedProxies }: { readonly trustedProxies: readonly string[] }) =>
  (peer: string, forwarded: string | undefined, { tls = false } = {}): string => {
    const request = {
      socket: { remoteAddress: peer },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    }
    return clientAddresses({ tls: tls ? files : undefined, trustedProxies })(
      request as unknown as IncomingMessage,
    )
  }
