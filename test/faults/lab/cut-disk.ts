/**
 * A file as a disk may hold it when the power goes: what a sync covers that had ended is there; of what was written after
 * that, each sector of 512 bytes holds what it did before or after any one of the writes, in any order.
 *
 * - The length of the file is as it was at some moment since: one that was cut short and not synced may have its old
 *   length and bytes again.
 * - A write that was under way may be there as well, in part or not at all.
 *
 * Reliability §3.1 F3.
 */
import { type Chance, pick } from './chance.ts'

/** `none` and `all` of what no sync covers; `writes`: some of them, whole; `sectors`: each sector by itself. */
export type Kept = 'none' | 'all' | 'writes' | 'sectors'

type Operation = { readonly at: number; readonly bytes: Buffer } | { readonly length: number }

const sectorBytes = 512

export class CutFile {
  /** What is on the disk for certain. */
  readonly #durable: Content
  #pending: Operation[] = []
  /** Operations that are durable, of all. */
  #settled = 0

  constructor(content: Buffer) {
    this.#durable = new Content(content)
  }

  /** Operations up to now, for `synced`. */
  get count(): number {
    return this.#settled + this.#pending.length
  }

  get unsynced(): number {
    return this.#pending.length
  }

  /** It was made shorter, and may have its old length again. */
  get isCutOff(): boolean {
    return this.#pending.some((operation) => 'length' in operation)
  }

  write(at: number, bytes: Buffer): void {
    this.#pending.push({ at, bytes })
  }

  truncate(length: number): void {
    this.#pending.push({ length })
  }

  /** A sync has ended that covers so many operations, counted from the first. */
  synced(count: number): void {
    const covered = this.#pending.splice(0, Math.max(0, count - this.#settled))
    this.#settled += covered.length
    for (const operation of covered) this.#durable.apply(operation)
  }

  /** The file after the cut. */
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
   * What each touched sector may hold, oldest first, where the length is as it was after `sized` operations: what was cut
   * off by then is gone, and behind what is cut off later nothing is written.
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
  /** Which write made it; undefined: what was there before. */
  readonly by: number | undefined
  readonly bytes: Buffer
}

const zeros: Version = { by: undefined, bytes: Buffer.alloc(sectorBytes) }

const floor = (at: number): number => Math.floor(at / sectorBytes)

/** Half of the time all that there is. */
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
