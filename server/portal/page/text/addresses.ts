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
const tail = /[.,;:!?)\]}]+$/

/** Returns each address of the text once, in its order. */
export function addressesIn(text: string): readonly Address[] {
  const found = new Map<string, Address>()
  for (const [match] of text.matchAll(address)) {
    const written = match.replace(tail, '')
    if (found.has(written) || !URL.canParse(written)) continue
    const ascii = new URL(written).hostname
    const host = decodedHost(unescaped(ascii))
    if (host !== '') found.set(written, { text: written, host, ascii: host === ascii ? undefined : ascii })
  }
  return [...found.values()]
}

/** A host of an unusual scheme may be written with percent signs. */
function unescaped(host: string): string {
  try {
    return decodeURIComponent(host)
  } catch {
    return host
  }
}
