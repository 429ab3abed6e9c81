/**
 * Rows and answers without what differs from run to run: ids become the names of what they stand for, times and
 * random bytes become words, and numbers that depend on the order within a batch are left out.
 */
import { copiedTables } from '../../../../server/database/row-copy.ts'
import { otherClaim } from './acts.ts'

/** What ids stand for. */
export type Labels = Map<string, string>

/** Requests of a batch may run in any order. These numbers follow it. */
const ordered = new Set(['sequence', 'arrival'])
const random = new Set([
  ...['request_id', 'public_key', 'fingerprint', 'instance_id', 'nonce', 'signed_at', 'code_sha256'],
])
/** Written at most every 10 seconds, so they follow how long the run takes. */
const contact = new Set(['last_contact_at', 'last_used_at'])

const ids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g
/** Notices name the short id of what they are about. */
const shortIds = /(agent-bridge (?:task|transfer) \w+) [\w-]+/g
/** Which of two keys claims a task follows the order of a batch. */
const otherKey = new RegExp(`(key-\\d+-\\d+-of-\\d+)${otherClaim}`)

export function plain(value: unknown, labels: Labels): unknown {
  if (typeof value === 'string') return plainText(value, labels)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return value.map((each) => plain(each, labels))
  if (value instanceof Uint8Array) return 'bytes'
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => ![ordered, random, contact].some((some) => some.has(name)))
      .map(([name, each]) => [name, plain(each, labels)] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}

function plainText(text: string, labels: Labels): unknown {
  if (/^[[{]"?/.test(text) && /[\]}]$/.test(text)) {
    try {
      return plain(JSON.parse(text), labels)
    } catch {
      // It only looks like JSON.
    }
  }
  return text
    .replace(ids, (id) => labels.get(id) ?? 'id')
    .replace(times, 'time')
    .replace(shortIds, '$1 it')
    .replace(otherKey, '$1')
}

/** Tables of the installation itself, which the requests do not write. Each store was set up in its own way. */
const setUp = /^(server|steady_clock|maintenance|owner_|replay_floor|telemetry_)/

/** Tables whose rows are compared. */
export const comparedTables = copiedTables.map(({ name }) => name).filter((name) => !setUp.test(name))

/** Whether a message was offered before it was acknowledged follows the order of a batch. */
function withoutLostOffers(row: object): object {
  if (!('acknowledged_at' in row) || row.acknowledged_at === null) return row
  return Object.fromEntries(
    Object.entries(row).filter(([name]) => !name.includes('offered') && name !== 'offers'),
  )
}

/** Returns all rows of the tables, sorted. */
export async function remains(
  rows: (sql: string) => Promise<object[]>,
  labels: Labels,
): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const table of comparedTables) {
    const all = await rows(`SELECT * FROM ${table}`)
    found[table] = all.map((row) => JSON.stringify(plain(withoutLostOffers(row), labels))).sort()
  }
  return found
}
