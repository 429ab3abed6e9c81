/**
 * Reads which statements a client sends to PostgreSQL. Counts those of a group of writes, from BEGIN to
 * COMMIT.
 */

/** Only a group of writes begins with it. */
const beginOfGroup = "BEGIN; SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout"

export interface SentMessage {
  readonly bytes: Buffer
  /** Number of its statement, if it runs one in a group. */
  readonly number: number | undefined
  /** Text of the statement that it runs, also if the client has sent the text in an earlier message. */
  readonly text: string | undefined
}

export class SentStatements {
  #rest = Buffer.alloc(0)
  #isStarted = false
  #inGroup = 0
  /** Texts of the prepared statements, by their names. */
  readonly #texts = new Map<string, string>()
  #bound: string | undefined

  /** Takes the next bytes. Returns the messages that are complete. */
  take(bytes: Buffer): SentMessage[] {
    this.#rest = Buffer.concat([this.#rest, bytes])
    const messages: SentMessage[] = []
    for (;;) {
      // The first message has no type.
      const typeBytes = this.#isStarted ? 1 : 0
      if (this.#rest.length < typeBytes + 4) return messages
      const length = typeBytes + this.#rest.readUInt32BE(typeBytes)
      if (this.#rest.length < length) return messages
      const message = this.#rest.subarray(0, length)
      this.#rest = this.#rest.subarray(length)
      const isTyped = this.#isStarted
      messages.push({
        bytes: message,
        number: isTyped ? this.#numberOf(message) : undefined,
        text: isTyped ? this.#textOf(message) : undefined,
      })
      this.#isStarted = true
    }
  }

  #textOf(message: Buffer): string | undefined {
    const type = message.toString('latin1', 0, 1)
    const [first = '', second = ''] = message.toString('utf8', 5).split('\0', 2)
    if (type === 'P') this.#texts.set(first, second)
    if (type === 'B') this.#bound = this.#texts.get(second)
    if (type === 'Q') return first
    return type === 'E' ? this.#bound : undefined
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
