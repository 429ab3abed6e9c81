/**
 * What counts as one place on the network: an IPv4 address, or the /64 of an IPv6 address, whose holder has as many
 * addresses in it as it likes (RFC 4291 §2.5.1, RFC 6177).
 */
import { isIP } from 'node:net'

/** The place that an address belongs to, in one spelling. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [inner = ''] = address.split('%')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(inner)?.[1]
  if (mapped !== undefined) return mapped
  // The URL standard writes an address in one way: groups in small letters, the longest zeros as `::`.
  const [head = '', tail] = new URL(`http://[${inner}]`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : new Array<string>(8 - left.length - right.length).fill('0')
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}
