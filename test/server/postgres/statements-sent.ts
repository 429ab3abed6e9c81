/** Counts the statements of a group of writes that a client sends to PostgreSQL, from BEGIN to COMMIT. */

/** Only a group of writes begins with it. */
const beginOfGroup = "BEGIN; SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout"

export class SentStatements {
  #rest = Buffer.alloc(0)
  #isStarted = false
  #inGroup = 0

  /**
   * Takes the next bytes. Returns the messages that are complete, each with the number of its statement if it
   * runs one in a group.
   */
  take(bytes: Buffer): { readonly bytes: Buffer; readonly number: number | undefined }[] {
    this.#rest = Buffer.concat([this.#rest, bytes])
    const messages: { bytes: Buffer; number: number | undefined }[] = []
    for (;;) {
      // The first message has no type.
      const typeBytes = this.#isStarted ? 1 : 0
      if (this.#rest.length < typeBytes + 4) return messages
      const length = typeBytes + this.#rest.readUInt32BE(typeBytes)
      if (this.#rest.length < length) return messages
      const message = this.#rest.subarray(0, length)
      this.#rest = this.#rest.subarray(length)
      messages.push({ bytes: message, number: this.#isStarted ? this.#numberOf(message) : undefined })
      this.#isStarted = true
    }
  }

  #numberOf(message: Buffer): number | undefined {
    const type = message.toString('latin1', 0, 1)
    if (type !== 'Q' && type !== 'E') return undefined
    if (type === 'Q' && message.includes(beginOfGroup)) this.#inGroup = 0
    else if (this.#inGroup === 0) return undefined
    this.#inGroup += 1
    const number = this.#inGroup
    if (type === 'Q' && message.includes('COMMIT')) this.#inGroup = 0
    return number
  }
}
