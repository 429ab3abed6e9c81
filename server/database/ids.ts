/**
 * Ids: UUIDv7 in lower case, strictly increasing per database. So a page that continues `after` an id skips
 * no row.
 *
 * - An id has 48 bits of milliseconds, a 12-bit counter within the millisecond, and 62 random bits.
 * - While the clock does not advance or goes back, the counter rises. After 4096 ids it takes the next
 *   millisecond.
 * - The first id is greater than the greatest id in the database, so ids rise across restarts and clock
 *   changes.
 *
 * Contract §1 "IDs".
 */
export interface Ids {
  next(now: Date): string
  /** Returns a bound that is not smaller than any id so far, and smaller than any later one. */
  last(): string
  /** Makes `last` greater, without an id. */
  advance(now: Date): void
  /** Makes all later ids greater than this one. */
  raise(id: string): void
}

const shape = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** Characters of an id that hold its milliseconds and its count. */
const timeAndCount = 18
const countsPerMs = 0x1000
const randomBytes = 8
const drawnAtOnce = 512

/** @throws RangeError when `last` is not a UUIDv7 */
export function createIds(last: string | undefined, random: (bytes: number) => Buffer): Ids {
  let { ms, count } = last === undefined ? { ms: 0, count: 0 } : parse(last)
  let pool: Buffer = Buffer.alloc(0)

  const draw = (): string => {
    if (pool.length < randomBytes) pool = random(randomBytes * drawnAtOnce)
    const bytes = pool.subarray(0, randomBytes)
    pool = pool.subarray(randomBytes)
    bytes[0] = 0x80 | ((bytes[0] ?? 0) & 0x3f)
    return bytes.toString('hex')
  }

  const startOf = (): string => {
    const time = ms.toString(16).padStart(12, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}`
  }

  const advance = (now: Date): void => {
    const wall = now.getTime()
    if (wall > ms) {
      ms = wall
      count = 0
    } else if (count + 1 < countsPerMs) {
      count += 1
    } else {
      ms += 1
      count = 0
    }
  }

  return {
    last: () => `${startOf()}-ffff-ffffffffffff`,
    raise(id) {
      const least = parse(`${id.slice(0, timeAndCount)}-8000-000000000000`)
      if (least.ms > ms || (least.ms === ms && least.count > count)) ({ ms, count } = least)
    },
    advance,
    next(now) {
      advance(now)
      const tail = draw()
      return `${startOf()}-${tail.slice(0, 4)}-${tail.slice(4)}`
    },
  }
}

/** Returns the smallest id that could be made at that moment or later. */
export function firstIdAt(moment: Date): string {
  const time = Math.max(0, moment.getTime()).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

function parse(id: string): { ms: number; count: number } {
  const parts = shape.exec(id)
  if (parts === null) throw new RangeError(`not a UUIDv7: ${id}`)
  const [, high = '', low = '', count = ''] = parts
  return { ms: Number.parseInt(high + low, 16), count: Number.parseInt(count, 16) }
}
