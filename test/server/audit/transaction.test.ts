/**
 * A record and what it records are one transaction: what cannot be recorded does not happen.
 *
 * The store refuses every audit record while each mutation of the contract is asked for. Contract §10.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import { kinds, type MutationId } from '../endpoints/recorded.ts'
import { send } from '../endpoints/send.ts'
import { tamper } from '../maintenance/upkeep.ts'
import { Attempts, answering } from '../refusals/attempts.ts'
import { stored } from '../refusals/stored.ts'

const isRecorded = ({ id, method }: EndpointSpec): boolean =>
  method !== 'GET' && typeof kinds[id as MutationId] === 'string'
/** Opening a conversation that is there changes nothing, and so has no record to be refused. */
const changing = answering.filter((entry) => isRecorded(entry) && entry.id !== 'conversations.open')

let attempts: Attempts
let data: string

beforeAll(async () => {
  attempts = await Attempts.start(changing)
  data = attempts.world.bridge.data
  tamper(data, (database) =>
    database.exec(
      "CREATE TRIGGER no_audit BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no audit'); END",
    ),
  )
})
afterAll(() => attempts.close())

test.each(changing.map((entry) => ({ id: entry.id, entry })))('$id changes nothing', async ({ entry }) => {
  const ready = attempts.ready(entry)
  // Of a server of its own, whose store takes records.
  if (('url' in ready.by ? ready.by.url : ready.by.baseUrl) !== attempts.world.bridge.url) return
  const before = stored(data)
  const { status, json } = await send(entry, ready)
  expect([status, json]).toMatchObject([500, { error: 'internal' }])
  expect(stored(data)).toEqual(before)
})
