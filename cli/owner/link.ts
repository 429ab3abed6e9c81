/**
 * One-time links such as `https://bridge.example/setup#TOKEN`. If the address is known, the token alone is
 * accepted.
 *
 * Contract §10 "Sign-in".
 */
import { CommandError } from '../exit-codes.ts'
import { withOwnerHints } from './client.ts'

export interface OneTimeLink {
  readonly token: string
  /** Absent for a bare token. */
  readonly origin: string | undefined
}

/** @throws CommandError, which never repeats the text: it may be a token with a typing error. */
export function parseLink(text: string): OneTimeLink {
  const trimmed = text.trim()
  if (isToken(trimmed)) return { token: trimmed, origin: undefined }
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined
  const token = url?.hash.slice(1) ?? ''
  if (url !== undefined && /^https?:$/.test(url.protocol) && isToken(token)) {
    return { token, origin: url.origin }
  }
  throw new CommandError('usage', 'this is neither a one-time link nor its token', {
    hint: 'use the whole line that bridge server init, setup-link or owner-link prints',
  })
}

const isToken = (text: string): boolean => /^[A-Za-z0-9_-]{16,128}$/.test(text)

/** Checks the address of a node before any secret is read. @throws CommandError */
export async function requireUrl(url: string | undefined): Promise<string> {
  if (url === undefined) {
    throw new CommandError('usage', 'no node address was given', {
      hint: 'give it with --url, such as --url http://127.0.0.1:8484',
    })
  }
  return withOwnerHints(async () => {
    const { parseBaseUrl } = await import('../../sdk/program.ts')
    parseBaseUrl(url)
    return url
  })
}
