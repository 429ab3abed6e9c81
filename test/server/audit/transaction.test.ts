/**
 * A change and its audit record are one transaction: if the record cannot be stored, the change is rolled
 * back.
 *
 * The store refuses every audit record while the test requests each mutation of the contract. Contract §10.
 */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { expectSame, StoredReader } from '../../support/stored.ts'
import { tamper } from '../../support/tamper.ts'
import { kinds, type MutationId } from '../endpoints/recorded.ts'
import { send } from '../endpoints/send.ts'
import { Attempts, answering } from '../refusals/attempts.ts'

const isRecorded = ({ id, method }: EndpointSpec): boolean =>
  method !== 'GET' && typeof kinds[id as MutationId] === 'string'
/** Opening an existing conversation changes nothing and writes no audit record, so it cannot fail here. */
const changing = answering.filter((entry) => isRecorded(entry) && entry.id !== 'conversations.open')

const refusal = {
  sqlite: "CREATE TRIGGER no_audit BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no audit'); END",
  postgres: `
    CREATE FUNCTION no_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no audit'; END $$;
    CREATE TRIGGER no_audit BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION no_audit()`,
}

let attempts: Attempts
/** Readers of the stores of all servers that receive the requests. */
let stores: readonly StoredReader[]

beforeAll(async () => {
  attempts = await Attempts.start(changing)
  const storeOf = (folder: string) => (isOnPostgres ? folder : databasePath(folder))
  const folders = attempts.world.folders.filter((folder) => existsSync(storeOf(folder)))
  for (const folder of folders)
    tamper(folder, (database) => database.exec(isOnPostgres ? refusal.postgres : refusal.sqlite))
  stores = folders.map((folder) => new StoredReader(folder))
})
afterAll(() => {
  for (const store of stores) store.close()
  return attempts.close()
})

test.each(changing.map((entry) => ({ id: entry.id, entry })))(
  '$id changes nothing if its audit record is refused',
  async ({ entry }) => {
    const ready = attempts.ready(entry)
    const before = stores.map((store) => store.read())
    const { status, json } = await send(entry, ready)
    expect([status, json]).toMatchObject([500, { error: 'internal' }])
    expectSame(
      stores.map((store) => store.read()),
      before,
    )
  },
)
