/**
 * The payload of a notification: one character for the version of the format, then JSON. A node ignores
 * versions and topics that it does not know, so nodes of an older and a newer program run side by side.
 */
import { type Entries, type Topic, topics } from './entries.ts'

const version = '1'

export interface Batch {
  /** Id of the node that sent it. */
  readonly from: string
  /** Number of a ping. */
  readonly ping?: number
  /** The sender has dropped entries, so every wait reads again. */
  readonly everything?: boolean
  readonly entries: Partial<{ readonly [T in Topic]: readonly Entries[T][] }>
}

/** The payload cannot be read. */
export class UnreadableBatchError extends Error {
  override readonly name = 'UnreadableBatchError'
}

/** @throws UnreadableBatchError */
export function readBatch(payload: string): Batch {
  if (!payload.startsWith(version)) throw new UnreadableBatchError('its version is unknown')
  let found: unknown
  try {
    found = JSON.parse(payload.slice(version.length))
  } catch (error) {
    throw new UnreadableBatchError('it is not JSON', { cause: error })
  }
  if (!isRecord(found) || typeof found.from !== 'string') throw new UnreadableBatchError('it names no sender')
  const known = topics.filter((topic) => Array.isArray(found[topic]))
  return {
    from: found.from,
    ...(typeof found.ping === 'number' && { ping: found.ping }),
    everything: found.everything === true,
    entries: Object.fromEntries(known.map((topic) => [topic, found[topic]])),
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Entries that wait to be sent. An entry that is already there is not added again. */
export class Outbox {
  readonly #from: string
  readonly #maxBytes: number
  readonly #maxEntries: number
  readonly #waiting = new Map<Topic, Set<string>>()
  #count = 0
  #ping: number | undefined
  #everything = false

  constructor(from: string, maxBytes: number, maxEntries: number) {
    this.#from = from
    this.#maxBytes = maxBytes
    this.#maxEntries = maxEntries
  }

  get isEmpty(): boolean {
    return this.#count === 0 && this.#ping === undefined && !this.#everything
  }

  add<T extends Topic>(topic: T, entry: Entries[T]): void {
    if (this.#everything) return
    const json = JSON.stringify(entry)
    const known = this.#waiting.get(topic) ?? new Set()
    this.#waiting.set(topic, known)
    if (known.has(json)) return
    known.add(json)
    this.#count += 1
    const isTooLong = Buffer.byteLength(json) > this.#maxBytes / 2
    if (this.#count > this.#maxEntries || isTooLong) this.loseEntries()
  }

  addPing(number: number): void {
    this.#ping = number
  }

  /** Drops the entries and tells the other nodes to read everything again. */
  loseEntries(): void {
    this.#clear()
    this.#everything = true
  }

  /** Takes everything that waits, as payloads below the limit of bytes. */
  take(): string[] {
    const head = JSON.stringify({
      from: this.#from,
      ...(this.#ping !== undefined && { ping: this.#ping }),
      ...(this.#everything && { everything: true }),
    }).slice(0, -1)
    const payloads = this.#packed(`${version}${head}`, `${version}{"from":${JSON.stringify(this.#from)}`)
    this.#clear()
    this.#ping = undefined
    this.#everything = false
    return payloads
  }

  #packed(first: string, later: string): string[] {
    const payloads: string[] = []
    let head = first
    let parts = new Map<Topic, string[]>()
    let bytes = Buffer.byteLength(head) + 1
    const finish = () => {
      const lists = [...parts].map(([topic, list]) => `,"${topic}":[${list.join(',')}]`)
      payloads.push(`${head}${lists.join('')}}`)
      head = later
      parts = new Map()
      bytes = Buffer.byteLength(head) + 1
    }
    for (const [topic, entries] of this.#waiting) {
      for (const entry of entries) {
        // A comma, and the name of the topic with its brackets if it is the first of its topic.
        const added = Buffer.byteLength(entry) + 1 + (parts.has(topic) ? 0 : topic.length + 6)
        if (bytes + added >= this.#maxBytes) finish()
        const list = parts.get(topic) ?? []
        parts.set(topic, list)
        bytes += Buffer.byteLength(entry) + 1 + (list.length === 0 ? topic.length + 6 : 0)
        list.push(entry)
      }
    }
    finish()
    return payloads
  }

  #clear(): void {
    this.#waiting.clear()
    this.#count = 0
  }
}
