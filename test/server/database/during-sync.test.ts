/** Events during a sync of the WAL: later groups, reads, checkpoints and closing. */
import { statSync } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ApiError } from '../../../server/api-error.ts'
import { agentPrincipal, once } from '../../../server/idempotency.ts'
import { committed, until } from './held-syncs.ts'
import { add, outcomes, start } from './store.ts'

const large = 'x'.repeat(500_000)

test('a full disk refuses the next group immediately and does not affect the group being synced', async () => {
  const { database, writer, syncs, told, write, first, names } = await committed()
  const pages = database.pragma('page_count', { simple: true })
  database.pragma(`max_page_count = ${pages}`)
  await write('dora', large)
  expect(told).toEqual(['dora storage_full'])
  expect(writer.state()).toBe('full')
  database.pragma('max_page_count = 1000000')
  syncs[0]?.resolve()
  await first
  expect(told.slice(-3)).toEqual(['ada', 'ben', 'cleo'])
  // The writes answered now were committed before the disk was full.
  expect(writer.state()).toBe('full')
  const last = write('emil')
  await until(() => syncs.length === 2)
  expect(writer.state()).toBe('open')
  syncs[1]?.resolve()
  await last
  expect(names()).toEqual(['ada', 'ben', 'cleo', 'emil'])
})

test('after a failed COMMIT no group is accepted, but earlier commits are answered once they are durable', async () => {
  const { writer, syncs, told, write, first, fatal, database } = await committed({
    before: (database) =>
      database.exec(
        'CREATE TABLE later (user_id TEXT REFERENCES owner_users (id) DEFERRABLE INITIALLY DEFERRED) STRICT',
      ),
  })
  const second = write('dora')
  await until(() => writer.queueLength() === 0)
  await immediate()
  const doomed = writer.write(async (tx) => {
    await add(tx, 'emil')
    database.exec("INSERT INTO later VALUES ('nobody')")
  })
  expect(await outcomes([doomed])).toEqual(['unavailable'])
  expect(fatal).toHaveLength(1)
  syncs[0]?.resolve()
  await until(() => syncs.length === 2)
  syncs[1]?.resolve()
  await Promise.all([first, second])
  expect(told.slice(-1)).toEqual(['dora'])
  expect(writer.state()).toBe('broken')
  expect(fatal).toHaveLength(1)
})

test('closing during a sync fails if the sync fails, and keeps the file handle until then', async () => {
  const { writer, syncs, handle, told, first } = await committed()
  const closing = writer.close()
  await immediate()
  expect(handle.closed).toBe(0)
  syncs[0]?.reject(new Error('i/o error'))
  await Promise.all([first, closing])
  expect(told).toEqual(['ada unavailable', 'ben unavailable', 'cleo unavailable'])
  expect(handle.closed).toBe(1)
  expect(writer.state()).toBe('broken')
})

test('a checkpoint can run during the sync of a later group, which is answered after that sync', async () => {
  const { writer, syncs, told, write, first, path } = await committed()
  const checkpointed = writer.checkpoint()
  await until(() => writer.queueLength() === 0)
  syncs[0]?.resolve()
  await first
  await until(() => syncs.length === 2)
  const second = write('dora')
  await until(() => writer.queueLength() === 0)
  await immediate()
  syncs[1]?.resolve()
  expect(await checkpointed).toBe(true)
  expect(statSync(`${path}-wal`).size).toBe(0)
  await until(() => syncs.length === 3)
  expect(told).not.toContain('dora')
  syncs[2]?.resolve()
  await second
})

test('a group that failed earlier is not checkpointed into the file', async () => {
  const { writer, syncs, handle, write, first, path, fatal } = await committed()
  const checkpointed = writer.checkpoint()
  await until(() => writer.queueLength() === 0)
  syncs[0]?.resolve()
  await first
  await until(() => syncs.length === 2)
  const second = write('dora')
  await until(() => writer.queueLength() === 0)
  await immediate()
  const { size } = statSync(`${path}-wal`)
  handle.failure = new Error('i/o error')
  syncs[1]?.resolve()
  await second
  expect(fatal).toEqual([handle.failure])
  expect(await checkpointed).toBe(false)
  expect(statSync(`${path}-wal`).size).toBe(size)
})

test('a stored answer is repeated only when it and the nonce of the repeated request are durable', async () => {
  const { writer, syncs, first } = await committed()
  syncs[0]?.resolve()
  await first
  const keyed = { method: 'POST', route: '/x', key: 'k', fingerprint: Buffer.from('f') }
  const told: boolean[] = []
  const ask = (nonce: string) =>
    writer
      .write((tx) => once(tx, agentPrincipal({ agent_id: 'a' }), keyed, async () => ({ made: 1 })), {
        nonce: { credentialId: 'c', nonce: nonce.repeat(22), signedAt: Math.floor(start.getTime() / 1000) },
      })
      .then(({ replayed }) => told.push(replayed))
  const many = Array.from({ length: 3 }, (_, index) => writer.write((tx) => add(tx, `person ${index}`)))
  const asked = ask('a')
  await until(() => syncs.length === 2)
  const again = ask('b')
  await until(() => writer.queueLength() === 0)
  await immediate()
  expect(told).toEqual([])
  syncs[1]?.resolve()
  await Promise.all([asked, ...many])
  await until(() => syncs.length === 3)
  await immediate()
  expect(told).toEqual([false])
  syncs[2]?.resolve()
  await again
  expect(told).toEqual([false, true])
})

test('a refusal that depends on data that is not durable yet waits for its sync', async () => {
  const { writer, syncs, first, told } = await committed()
  const refused = writer
    .write(async (tx) => {
      const found = await tx.db.selectFrom('owner_users').select('name').execute()
      throw new ApiError(found.length === 3 ? 'not_found' : 'internal')
    })
    .catch((error: ApiError) => told.push(error.code))
  await until(() => writer.queueLength() === 0)
  await immediate()
  expect(told).toEqual([])
  syncs[0]?.resolve()
  await first
  await until(() => syncs.length === 2)
  expect(told).not.toContain('not_found')
  syncs[1]?.resolve()
  await refused
  expect(told.at(-1)).toBe('not_found')
})

test('no read returns data that is not durable, at any point beside a commit', async () => {
  const { reader, syncs, first, write } = await committed()
  syncs[0]?.resolve()
  await first
  for (let steps = 0; steps < 60; steps += 1) {
    const before = syncs.length
    const three = [0, 1, 2].map((index) => write(`person ${steps} ${index}`))
    let early = 0
    const read = async () => {
      const found = await reader.read(async (db) => db.selectFrom('owner_users').select('name').execute())
      if (found.some(({ name }) => name.startsWith(`person ${steps} `)) && !isSynced) early += 1
    }
    let isSynced = false
    const reads: Promise<void>[] = []
    // Starts a read in every microtask of the turns in which the group runs, starting from another turn each
    // time.
    const spin = (left: number): void => {
      if (left === 0) return
      if (left % 7 === steps % 7) reads.push(read())
      queueMicrotask(() => spin(left - 1))
    }
    while (syncs.length === before) {
      spin(100)
      await immediate()
    }
    spin(100)
    await immediate()
    expect(early).toBe(0)
    isSynced = true
    syncs.at(-1)?.resolve()
    await Promise.all([...three, ...reads])
  }
})

test('the floor of the nonces never falls, even if a later purge is committed before an earlier one is durable', async () => {
  const { writer, nonces, syncs, first, time } = await committed()
  syncs[0]?.resolve()
  await first
  const now = Math.floor(start.getTime() / 1000)
  const spend = (name: string, signedAt: number) =>
    writer.write(async () => {}, { nonce: { credentialId: name, nonce: name.repeat(22), signedAt } })
  const spent = [spend('a', now + 20), spend('b', now - 20), spend('c', now + 200)]
  await until(() => syncs.length === 2)
  syncs[1]?.resolve()
  await Promise.all(spent)
  time.now = new Date(start.getTime() + 355_000)
  time.monotonicMs += 355_000
  const purge = () => writer.write((tx) => nonces.purge(tx))
  const filler = [0, 1].map((index) => writer.write((tx) => add(tx, `filler ${index}`)))
  const one = purge()
  await until(() => syncs.length === 3)
  const two = purge()
  await until(() => writer.queueLength() === 0)
  await immediate()
  syncs[2]?.resolve()
  await Promise.all([one, ...filler])
  expect(nonces.floor()).toBe(now + 20)
  await until(() => syncs.length === 4)
  syncs[3]?.resolve()
  await two
  expect(nonces.floor()).toBe(now + 20)
})

test('a commit listener that throws does not count as a disk failure', async () => {
  let fails = true
  const { syncs, told, first, fatal, effectErrors, writer } = await committed({
    onCommit() {
      if (fails) throw new Error('deaf')
    },
  })
  syncs[0]?.resolve()
  await first
  fails = false
  expect(told.slice(-3)).toEqual(['ada', 'ben', 'cleo'])
  expect([fatal, effectErrors, writer.state()]).toEqual([[], [new Error('deaf')], 'open'])
})
