/**
 * A record and what it records are one transaction: what cannot be recorded does not happen.
 *
 * The store refuses every audit record while each mutation of the contract is asked for. Contract §10.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
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
/** Of every server that the requests go to. */
let folders: readonly string[]

beforeAll(async () => {
  attempts = await Attempts.start(changing)
  folders = attempts.world.folders.filter((folder) => existsSync(join(folder, 'bridge.db')))
  for (const folder of folders)
    tamper(folder, (database) =>
      database.exec(
        "CREATE TRIGGER no_audit BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no audit'); END",
      ),
    )
})
afterAll(() => attempts.close())

test.each(changing.map((entry) => ({ id: entry.id, entry })))('$id changes nothing', async ({ entry }) => {
  const ready = attempts.ready(entry)
  const before = folders.map(stored)
  const { status, json } = await send(entry, ready)
  expect([status, json]).toMatchObject([500, { error: 'internal' }])
  expect(folders.map(stored)).toEqual(before)
})
