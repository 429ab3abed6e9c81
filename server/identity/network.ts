/**
 * Groups client addresses by network: an IPv4 address counts alone, an IPv6 address by its /64, because its
 * holder can use every address in it (RFC 4291 §2.5.1, RFC 6177).
 */
import { isIP } from 'node:net'

/** Returns the network of an address in one canonical spelling. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [inner = ''] = address.split('%')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(inner)?.[1]
  if (mapped !== undefined) return mapped
  // The URL parser normalises the address: lower-case groups, the longest run of zeros as `::`.
  const [head = '', tail] = new URL(`http://[${inner}]`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : new Array<string>(8 - left.length - right.length).fill('0')
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}
