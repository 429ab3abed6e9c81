/**
 * Checks the bearer token. Digests are compared in constant time, and repeated guesses are delayed.
 *
 * Spec §4.5, "exactly one `Authorization: Bearer <TRANSFER_TOKEN>` header", and §5, Transfer helper.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { transferLimits } from '../sdk/contract/helper/limits.ts'

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

export class TokenCheck {
  readonly #digest: Buffer
  readonly #delayMs: number
  #wrong = 0

  constructor(token: string, delayMs = transferLimits.badTokenSeconds * 1000) {
    this.#digest = digestOf(token)
    this.#delayMs = delayMs
  }

  /**
   * Returns whether the header has the token. After 20 wrong headers, each further one is answered after 1 s.
   */
  async admits(header: string | undefined): Promise<boolean> {
    const given = /^Bearer ([A-Za-z0-9_-]{43,128})$/.exec(header ?? '')?.[1] ?? ''
    if (timingSafeEqual(digestOf(given), this.#digest)) return true
    this.#wrong += 1
    if (this.#wrong > transferLimits.freeBadTokens) await pause(this.#delayMs, undefined, { ref: false })
    return false
  }
}
