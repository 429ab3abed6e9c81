/** Addresses within a text. They stay text: this page never opens one. */
import { decodedHost } from './punycode.ts'

export interface Address {
  /** As it stands in the text. */
  readonly text: string
  /** Host to which a browser would go, in the letters of its language. */
  readonly host: string
  /** The same host in ASCII, if it differs. A host that looks like another one shows itself here. */
  readonly ascii: string | undefined
}

const address = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>"'`]+/gi
/** Ends of a sentence, or of brackets around the address. */
const tail = '.,;:!?)]}'

/** Names of hosts have at most this many characters. A longer one has no other form to show. */
const longestHost = 253

/** Returns each address of the text once, in its order. */
export function addressesIn(text: string): readonly Address[] {
  const found = new Map<string, Address>()
  for (const [match] of text.matchAll(address)) {
    const written = withoutTail(match)
    const ascii = found.has(written) ? undefined : URL.parse(written)?.hostname
    if (ascii === undefined) continue
    const host = ascii.length > longestHost ? ascii : decodedHost(unescaped(ascii))
    if (host !== '') found.set(written, { text: written, host, ascii: host === ascii ? undefined : ascii })
  }
  return [...found.values()]
}

/** A pattern that ends in `$` would try each of 60,000 brackets within the address anew. */
function withoutTail(text: string): string {
  let end = text.length
  while (tail.includes(text[end - 1] ?? ' ')) end -= 1
  return text.slice(0, end)
}

/** A host of an unusual scheme may be written with percent signs. */
function unescaped(host: string): string {
  try {
    return decodeURIComponent(host)
  } catch {
    return host
  }
}
