/**
 * The possible contents of a file after a power cut. Everything covered by a completed sync is present. Each
 * sector of 512 bytes may have its content before or after any later write, in any order.
 *
 * - The length of the file is its length at some moment since the sync: a truncated file that was not
 *   synced may have its old length and bytes again.
 * - A write in progress may be present completely, in part or not at all.
 *
 * Reliability §3.1 F3.
 */
import { type Chance, pick } from '../../support/chance.ts'

/**
 * The kept part of the writes that no sync covers: `none`, `all`, `writes` (some of them, complete), or
 * `sectors` (each sector separately).
 */
export type Kept = 'none' | 'all' | 'writes' | 'sectors'

type Operation = { readonly at: number; readonly bytes: Buffer } | { readonly length: number }

const sectorBytes = 512

export class CutFile {
  /** The content that is certainly on the disk. */
  readonly #durable: Content
  #pending: Operation[] = []
  /** The number of operations that are durable, of all. */
  #settled = 0

  constructor(content: Buffer) {
    this.#durable = new Content(content)
  }

  /** The number of operations so far, for `synced`. */
  get count(): number {
    return this.#settled + this.#pending.length
  }

  get unsynced(): number {
    return this.#pending.length
  }

  /** Whether the file was truncated and may have its old length again. */
  get isCutOff(): boolean {
    return this.#pending.some((operation) => 'length' in operation)
  }

  write(at: number, bytes: Buffer): void {
    this.#pending.push({ at, bytes })
  }

  truncate(length: number): void {
    this.#pending.push({ length })
  }

  /** Records the end of a sync that covers this many operations, counted from the first. */
  synced(count: number): void {
    const covered = this.#pending.splice(0, Math.max(0, count - this.#settled))
    this.#settled += covered.length
    for (const operation of covered) this.#durable.apply(operation)
  }

  /** Returns the file after the cut. */
  cut(kept: Kept, chance: Chance): Buffer {
    const length = this.#pending.length
    const sized = { none: 0, all: length, writes: someOf(length, chance), sectors: someOf(length, chance) }[
      kept
    ]
    const content = Buffer.alloc(this.#lengthAfter(sized))
    this.#durable.bytes.copy(content)
    const chosen = this.#pending.map(() => kept === 'all' || (kept === 'writes' && chance() < 0.5))
    for (const [sector, versions] of this.#sectors(sized)) {
      const last = versions.findLast(({ by }) => by === undefined || chosen[by])
      const version = kept === 'sectors' ? pick(chance, versions) : last
      version?.bytes.copy(content, sector * sectorBytes)
    }
    return content
  }

  #lengthAfter(count: number): number {
    let length = this.#durable.length
    for (const operation of this.#pending.slice(0, count)) length = lengthAfter(length, operation)
    return length
  }

  /**
   * Returns the possible contents of each touched sector, oldest first, if the length is that after `sized`
   * operations: sectors truncated by then are gone, and later truncated ones are not written.
   */
  #sectors(sized: number): Map<number, Version[]> {
    const sectors = new Map<number, Version[]>()
    const content = new Content(this.#durable.bytes)
    let end = Number.POSITIVE_INFINITY
    for (const [by, operation] of this.#pending.entries()) {
      content.apply(operation)
      if ('length' in operation) {
        if (by >= sized) end = Math.min(end, operation.length)
        else
          for (const sector of sectorsFrom(operation.length, this.#durable.length, sectors))
            sectors.set(sector, [zeros])
        continue
      }
      const { at, bytes } = operation
      for (let sector = floor(at); sector * sectorBytes < at + bytes.length; sector += 1) {
        const from = sector * sectorBytes
        if (from >= end) break
        const versions = sectors.get(sector) ?? [{ by: undefined, bytes: this.#durable.sector(from) }]
        versions.push({ by, bytes: content.sector(from) })
        sectors.set(sector, versions)
      }
    }
    return sectors
  }
}

interface Version {
  /** The index of the write that made it; undefined for the content before. */
  readonly by: number | undefined
  readonly bytes: Buffer
}

const zeros: Version = { by: undefined, bytes: Buffer.alloc(sectorBytes) }

const floor = (at: number): number => Math.floor(at / sectorBytes)

/** All of them half of the time. */
const someOf = (count: number, chance: Chance): number =>
  chance() < 0.5 ? count : Math.floor(chance() * (count + 1))

function* sectorsFrom(length: number, end: number, touched: ReadonlyMap<number, unknown>): Generator<number> {
  const first = Math.ceil(length / sectorBytes)
  for (let sector = first; sector * sectorBytes < end; sector += 1) yield sector
  for (const sector of touched.keys()) if (sector >= first) yield sector
}

const lengthAfter = (length: number, operation: Operation): number =>
  'length' in operation ? operation.length : Math.max(length, operation.at + operation.bytes.length)

/** Bytes that grow in place, with zeros where nothing was written. */
class Content {
  #room: Buffer
  length: number

  constructor(bytes: Buffer) {
    this.#room = Buffer.from(bytes)
    this.length = bytes.length
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.length)
  }

  sector(from: number): Buffer {
    return Buffer.from(this.bytes.subarray(from, from + sectorBytes))
  }

  apply(operation: Operation): void {
    const length = lengthAfter(this.length, operation)
    if (length < this.length) this.#room.fill(0, length, this.length)
    if (length > this.#room.length) {
      const grown = Buffer.alloc(2 * length)
      this.#room.copy(grown)
      this.#room = grown
    }
    this.length = length
    if ('bytes' in operation) operation.bytes.copy(this.#room, operation.at)
  }
}
