import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { ApiError } from '../../../server/api-error.ts'
import type { Nonce } from '../../../server/database/nonces.ts'
import { refuseEarlierProofs } from '../../../server/database/sqlite/nonces.ts'
import { startChild } from './child.ts'
import { add, openStore, outcomes, start, temporaryFolder } from './store.ts'

const now = Math.floor(start.getTime() / 1000)
const fresh = () => randomBytes(16).toString('base64url')
const proof = (nonce = fresh(), signedAt = now, credentialId = 'ada'): Nonce => ({
  credentialId,
  nonce,
  signedAt,
})

type Store = ReturnType<typeof openStore>
const spend = (store: Store, nonce: Nonce) => store.writer.write(async () => undefined, { nonce })
const stored = (store: Store) => store.bystander.prepare('SELECT count(*) FROM nonces').pluck().get()

function pass(store: Store, seconds: number): void {
  store.time.now = new Date(store.time.now.getTime() + seconds * 1000)
  store.time.monotonicMs += seconds * 1000
}

async function purge(store: Store): Promise<number> {
  let total = 0
  for (let more = true; more; ) {
    const batch = await store.writer.write((tx) => store.nonces.purge(tx))
    total += batch.removed
    more = batch.more
  }
  return total
}

/** Inserts a credential, because nonces belong to one. */
function issueCredential(database: Database.Database): void {
  database.exec(`
    INSERT INTO projects (id, name, description, state, created_at, updated_at) VALUES ('p', 'p', '', 'active', '', '');
    INSERT INTO agents (id, project_id, name, role_name, description, prompt_template, instructions, state, session_generation, created_at)
      VALUES ('a', 'p', 'ada', '', '', '', '', 'enabled', 0, '');
    INSERT INTO credentials (id, project_id, agent_id, binding, public_key, scopes, fingerprint, created_at)
      VALUES ('c', 'p', 'a', 'key', 'k', '[]', '', '')`)
}

test('a nonce is accepted once per credential', async () => {
  const store = openStore()
  const nonce = proof()
  expect(await outcomes([spend(store, nonce)])).toEqual(['done'])
  expect(await outcomes([spend(store, nonce), spend(store, { ...nonce, signedAt: now + 1 })])).toEqual([
    'request_replayed',
    'request_replayed',
  ])
  expect(await outcomes([spend(store, { ...nonce, credentialId: 'ben' })])).toEqual(['done'])
})

test('of a thousand simultaneous copies one is accepted, and the units of the others never run', async () => {
  const store = openStore()
  const nonce = proof()
  let ran = 0
  const unit = async () => {
    ran += 1
  }
  const told = await outcomes(Array.from({ length: 1000 }, () => store.writer.write(unit, { nonce })))
  expect(told.filter((each) => each === 'done')).toHaveLength(1)
  expect(told.filter((each) => each === 'request_replayed')).toHaveLength(999)
  expect(ran).toBe(1)
})

test('a nonce stays spent if its unit is refused or overruns', async () => {
  const store = openStore()
  const [refused, overrun] = [proof(), proof()]
  const told = await outcomes([
    store.writer.write(
      async (tx) => {
        await add(tx, 'ada')
        throw new ApiError('not_found')
      },
      { nonce: refused },
    ),
    store.writer.write(() => new Promise(() => {}), { nonce: overrun }),
  ])
  expect(told).toEqual(['not_found', 'UnitOverrunError'])
  expect(await outcomes([spend(store, refused), spend(store, overrun)])).toEqual([
    'request_replayed',
    'request_replayed',
  ])
  expect(store.names()).toEqual([])
})

test('only 16 bytes of a hash of the nonce are stored', async () => {
  const store = openStore()
  const nonce = proof()
  await spend(store, nonce)
  const row = store.bystander.prepare<[], { nonce: Buffer }>('SELECT nonce FROM nonces').get()
  expect(row?.nonce).toHaveLength(16)
  expect(row?.nonce.toString('latin1')).not.toContain(nonce.nonce)
})

test('a spent nonce is refused after a kill', async () => {
  const path = join(temporaryFolder(), 'bridge.db')
  const line = [Math.floor(Date.now() / 1000), ...Array.from({ length: 50 }, fresh)].join(' ')
  const first = startChild('spend.ts', [path])
  await first.next()
  first.say(line)
  expect(new Set((await first.next()).split(' '))).toEqual(new Set(['accepted']))
  await first.kill()

  const second = startChild('spend.ts', [path])
  await second.next()
  second.say(line)
  expect(new Set((await second.next()).split(' '))).toEqual(new Set(['request_replayed']))
})

test('if two processes use the same store, exactly one accepts each nonce', async () => {
  const path = join(temporaryFolder(), 'bridge.db')
  const both = [startChild('spend.ts', [path]), startChild('spend.ts', [path])]
  await Promise.all(both.map((each) => each.next()))
  const date = Math.floor(Date.now() / 1000)
  for (let round = 0; round < 20; round += 1) {
    const line = [date, ...Array.from({ length: 20 }, fresh)].join(' ')
    for (const each of both) each.say(line)
    const [one = [], other = []] = (await Promise.all(both.map((each) => each.next()))).map((each) =>
      each.split(' '),
    )
    const pairs = one.map((told, index) => [told, other[index]].sort())
    expect(pairs).toEqual(pairs.map(() => ['accepted', 'request_replayed']))
  }
})

test('nonces older than the window are removed, and the floor refuses them permanently', async () => {
  const store = openStore()
  const [old, young] = [proof(), proof(fresh(), now + 20)]
  await spend(store, old)
  await spend(store, young)
  pass(store, 329)
  expect(await purge(store)).toBe(0)
  expect(store.nonces.floor()).toBe(0)
  pass(store, 1)
  expect(await purge(store)).toBe(1)
  expect(stored(store)).toBe(1)
  expect(store.nonces.floor()).toBe(now)
  // The clock goes back one hour. The proof is inside the window again and its nonce was removed, but the
  // floor refuses it.
  pass(store, -3600)
  expect(await outcomes([spend(store, old), spend(store, young)])).toEqual([
    'request_replayed',
    'request_replayed',
  ])
})

test('the floor is the same after a restart', async () => {
  const path = join(temporaryFolder(), 'bridge.db')
  const store = openStore({ path })
  await spend(store, proof())
  pass(store, 400)
  await purge(store)
  await store.close()
  expect(openStore({ path }).nonces.floor()).toBe(now)
})

test('a nonce that was removed because the clock was a day ahead at a restart is refused after the clock is set back', async () => {
  const path = join(temporaryFolder(), 'bridge.db')
  const store = openStore({ path })
  const used = proof()
  await spend(store, used)
  await store.close()
  const tomorrow = { now: new Date(start.getTime() + 86_400_000), monotonicMs: 0 }
  const ahead = openStore({ path, time: tomorrow })
  expect(await purge(ahead)).toBe(1)
  await ahead.close()
  const after = openStore({ path })
  const later = proof(fresh(), now + 1)
  expect(await outcomes([spend(after, used), spend(after, later)])).toEqual(['request_replayed', 'done'])
})

test('a purge runs in batches', async () => {
  const store = openStore()
  await Promise.all(Array.from({ length: 1200 }, () => spend(store, proof())))
  pass(store, 400)
  expect(await store.writer.write((tx) => store.nonces.purge(tx))).toEqual({ removed: 500, more: true })
  expect(await purge(store)).toBe(700)
})

test('a purge that is rolled back changes neither the floor nor the count', async () => {
  const store = openStore({ noncesPerCredential: 1 })
  await spend(store, proof())
  pass(store, 400)
  const failed = store.writer.write(async (tx) => {
    await store.nonces.purge(tx)
    throw new ApiError('internal')
  })
  expect(await outcomes([failed])).toEqual(['internal'])
  expect(store.nonces.floor()).toBe(0)
  expect(await outcomes([spend(store, proof(fresh(), now + 400))])).toEqual(['rate_limited'])
})

test('a clock that jumps ahead neither empties the store nor refuses honest clients', async () => {
  const store = openStore()
  const honest = proof()
  await spend(store, honest)
  store.time.now = new Date(start.getTime() + 10 * 365 * 86_400_000)
  expect(await purge(store)).toBe(0)
  expect(store.nonces.floor()).toBe(0)
  store.time.now = start
  expect(await outcomes([spend(store, honest), spend(store, proof())])).toEqual(['request_replayed', 'done'])
})

test('after a sleep that the monotonic clock does not count, the purge catches up', async () => {
  const store = openStore()
  await spend(store, proof())
  store.time.now = new Date(start.getTime() + 600_000)
  expect(await purge(store)).toBe(0)
  pass(store, 300)
  expect(await purge(store)).toBe(1)
})

test('a new store accepts proofs immediately', async () => {
  const store = openStore()
  expect(store.nonces.floor()).toBe(0)
  expect(await outcomes([spend(store, proof())])).toEqual(['done'])
})

const losses: Record<string, (database: Database.Database) => void> = {
  'lost its nonces and their floor': (database) =>
    database.exec('DROP TABLE nonces; DROP TABLE replay_floor'),
  'lost its nonces': (database) => database.exec('DROP TABLE nonces'),
  'is a copy without its floor': (database) => database.exec('DELETE FROM replay_floor'),
  'was restored': (database) => refuseEarlierProofs(database, start),
}
test.each(Object.entries(losses))(
  'a store that %s refuses proofs dated up to 30 s from now',
  async (_, lose) => {
    const path = join(temporaryFolder(), 'bridge.db')
    const before = openStore({ path })
    issueCredential(before.database)
    const used = proof()
    await spend(before, used)
    lose(before.database)
    await before.close()

    const store = openStore({ path })
    expect(store.nonces.floor()).toBe(now + 30)
    const told = await outcomes([
      spend(store, used),
      spend(store, proof(fresh(), now + 30)),
      spend(store, proof(fresh(), now + 31)),
    ])
    expect(told).toEqual(['request_replayed', 'request_replayed', 'done'])
  },
)

test('a credential has a limited number of live nonces, also after a restart, and other credentials are not affected', async () => {
  const path = join(temporaryFolder(), 'bridge.db')
  const first = openStore({ path, noncesPerCredential: 3 })
  const told = await outcomes([1, 2, 3, 4, 5].map(() => spend(first, proof())))
  expect(told).toEqual(['done', 'done', 'done', 'rate_limited', 'rate_limited'])
  await first.close()

  const store = openStore({ path, noncesPerCredential: 3 })
  expect(await outcomes([spend(store, proof()), spend(store, proof(fresh(), now, 'ben'))])).toEqual([
    'rate_limited',
    'done',
  ])
  pass(store, 400)
  expect(await purge(store)).toBe(4)
  expect(await outcomes([spend(store, proof(fresh(), now + 400))])).toEqual(['done'])
})

test('nonces of a failed group do not count', async () => {
  const store = openStore({ noncesPerCredential: 1 })
  const pages = store.database.pragma('page_count', { simple: true })
  store.database.pragma(`max_page_count = ${pages}`)
  const failed = [spend(store, proof()), store.writer.write((tx) => add(tx, 'ada', 'x'.repeat(500_000)))]
  expect(await outcomes(failed)).toEqual(['storage_full', 'storage_full'])
  store.database.pragma('max_page_count = 1000000')
  expect(await outcomes([spend(store, proof())])).toEqual(['done'])
})

test('the node recounts nonces that another process purged before it refuses a credential', async () => {
  const store = openStore({ noncesPerCredential: 2 })
  await spend(store, proof())
  await spend(store, proof())
  store.database.exec('DELETE FROM nonces')
  expect(await outcomes([spend(store, proof()), spend(store, proof()), spend(store, proof())])).toEqual([
    'done',
    'done',
    'rate_limited',
  ])
})
