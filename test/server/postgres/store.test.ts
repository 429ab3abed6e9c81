/**
 * Parts of a node that differ on PostgreSQL: texts, lanes, savepoints, and the one node of a database.
 * Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import { readConfig } from '../../../server/config.ts'
import { nodeLane, noLane } from '../../../server/database/lanes.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import type { Nonce } from '../../../server/database/nonces.ts'
import { createDatabaseClock } from '../../../server/database/postgres/clock.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { openPostgresDatabase } from '../../../server/database/postgres/database.ts'
import { joinDatabase, removeDead } from '../../../server/database/postgres/nodes.ts'
import type { Tx } from '../../../server/database/tx.ts'
import { findOwner } from '../../../server/owners/store.ts'
import { startServer } from '../../../server/server.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { makeInstallation } from '../../support/installation.ts'
import { dropDatabase, isOnPostgres, onDatabase, storeSettings } from '../../support/postgres.ts'
import { add, outcomes } from '../database/store.ts'

const testNode = (id: string) => ({
  ...{ id, name: id, version: '1', settings: { portalOrigin: '', packages: 'folder' } },
  load: () => ({ percent: 1, waits: 2 }),
})

const temporary = () => mkdtempSync(join(tmpdir(), 'bridge-'))

describe.skipIf(!isOnPostgres)('a server on PostgreSQL', () => {
  let bridge: TestBridge
  beforeAll(async () => {
    bridge = await startBridge()
  })
  afterAll(() => bridge.close())

  test('every control character survives in a message, U+0000 included', async () => {
    const controls = Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(code)).join('')
    const text = `${controls}\u00100\u0010`
    const conversation = await bridge.ada.conversationWith(bridge.ben.id)
    await bridge.ada.send(conversation, bridge.ben.id, text)
    const { messages } = await bridge.ben.inbox()
    expect(messages.map(({ body }) => body)).toEqual([text])
  })

  test('a second server is refused while packages are in the data folder of the first', async () => {
    const data = temporary()
    const { database = '' } = storeSettings(bridge.data)
    const config = readConfig({ data, port: '0', log_level: 'silent', reserve_bytes: '0', database }, {})
    await expect(startServer(config)).rejects.toThrow(
      /^packages is folder at node .*; set packages to the same s3:/,
    )
    const status = await fetch(`${bridge.url}/api/ready`)
    expect(status.status).toBe(200)
    rmSync(data, { recursive: true })
  })
})

describe.skipIf(!isOnPostgres)('the writer on PostgreSQL', () => {
  const data = isOnPostgres ? temporary() : ''
  const { database: url = '' } = storeSettings(data)
  const fatal: unknown[] = []

  const open = (nodeId?: string) => {
    const clock = () => new Date()
    const monotonicMs = () => performance.now()
    return openPostgresDatabase({
      ...{ url, clock, monotonicMs, random: randomBytes },
      databaseClock: createDatabaseClock(monotonicMs, clock),
      onFatal: (error) => fatal.push(error),
      onEffectError: (error) => fatal.push(error),
      ...(nodeId !== undefined && { node: testNode(nodeId) }),
    })
  }
  let store: Awaited<ReturnType<typeof open>>

  beforeAll(async () => {
    await makeInstallation(readConfig({ data }, {}))
    store = await open('node')
  })
  afterAll(async () => {
    await store.close()
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  })

  /** Runs a statement beside the node. Returns the number of its rows. */
  const change = (text: string) => onDatabase(data, async (client) => (await client.query(text)).rowCount)

  const rowOf = <T extends object>(text: string) =>
    onDatabase(data, async (client) => (await client.query<T>(text)).rows[0] as T)

  const names = () =>
    store.reader.read(async (db) => {
      const rows = await db.selectFrom('owner_users').select('name').orderBy('name').execute()
      return rows.map(({ name }) => name)
    })

  test('a unit that fails after it has written is undone alone, and its neighbours are stored', async () => {
    const { write } = store.writer
    const writes = [
      write(nodeLane, (tx) => add(tx, 'ada')),
      write(nodeLane, async (tx) => {
        await add(tx, 'undone')
        throw new Error('refused')
      }),
      write(nodeLane, (tx) => add(tx, 'ada')),
      write(nodeLane, (tx) => add(tx, 'ben')),
    ]
    expect(await outcomes(writes)).toEqual(['done', 'Error', '23505', 'done'])
    expect(await names()).toEqual(['ada', 'ben'])
  })

  test('a unit goes on before the database has answered to its insert', async () => {
    await onDatabase(data, async (client) => {
      await client.query('BEGIN; LOCK TABLE owner_users IN SHARE MODE')
      const posted = Promise.withResolvers<void>()
      const write = store.writer.write(nodeLane, async (tx) => {
        await add(tx, 'dora')
        posted.resolve()
      })
      await posted.promise
      expect(await names()).not.toContain('dora')
      await client.query('COMMIT')
      await write
    })
    expect(await names()).toContain('dora')
    await store.writer.write(nodeLane, async (tx) => {
      await add(tx, 'emil')
      const { name } = await tx.db
        .selectFrom('owner_users')
        .select('name')
        .where('name', '=', 'emil')
        .executeTakeFirstOrThrow()
      await tx.db.deleteFrom('owner_users').where('name', 'in', [name, 'dora']).execute()
    })
    expect(await names()).toEqual(['ada', 'ben'])
  })

  test('a unit that waits for something else is undone', async () => {
    const overrun = store.writer.write(nodeLane, async (tx) => {
      await add(tx, 'late')
      await new Promise((resolve) => setTimeout(resolve, 50))
    })
    const neighbour = store.writer.write(nodeLane, (tx) => add(tx, 'cleo'))
    expect(await outcomes([overrun, neighbour])).toEqual(['UnitOverrunError', 'done'])
    expect(await names()).toEqual(['ada', 'ben', 'cleo'])
  })

  test('a nonce is accepted once, also if its unit fails and by a second process', async () => {
    const nonce = { credentialId: 'c', nonce: 'n'.repeat(22), signedAt: Math.floor(Date.now() / 1000) }
    const other = await open()
    const spend = (on: typeof store) =>
      on.writer.write(
        noLane,
        async () => {
          throw new Error('refused')
        },
        { nonce },
      )
    const told = await outcomes([spend(store), spend(store), spend(other)])
    expect(told.sort()).toEqual(['Error', 'request_replayed', 'request_replayed'])
    await other.close()
  })

  test('a purge keeps a nonce for half a minute longer than the window of its proof', async () => {
    const window = limits.proofBackSeconds + limits.proofAheadSeconds
    const agesSeconds = [window + 10, window + 25, window + 60]
    await change(`INSERT INTO nonces (credential_id, nonce, signed_at) SELECT 'old', decode(md5(age::text), 'hex'),
      floor(extract(epoch FROM now())) - age FROM unnest('{${agesSeconds.join(',')}}'::int[]) AS age`)
    await store.writer.write(nodeLane, (tx) => store.nonces.purge(tx))
    expect(await change("DELETE FROM nonces WHERE credential_id = 'old'")).toBe(2)
    await change('UPDATE replay_floor SET floor = 0')
  })

  test('a nonce that is new, but older than the floor of a failover since its check, is refused for now', async () => {
    const used = { credentialId: 'c', nonce: 'u'.repeat(22), signedAt: Math.floor(Date.now() / 1000) + 60 }
    const spend = (nonce: Nonce) => store.writer.write(noLane, async () => 'done', { nonce })
    expect(await outcomes([spend(used)])).toEqual(['done'])
    await onDatabase(data, async (client) => {
      await client.query('UPDATE replay_floor SET floor = $1', [used.signedAt - 1])
      // The writer learns the floor on its next connection.
      await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`)
    })
    await expect.poll(() => outcomes([store.writer.write(noLane, async () => 'done')])).toEqual(['done'])
    const early = { ...used, nonce: 'e'.repeat(22), signedAt: used.signedAt - 1 }
    expect(await outcomes([spend(early), spend(used)])).toEqual(['unavailable', 'request_replayed'])
    await onDatabase(data, (client) => client.query('UPDATE replay_floor SET floor = 0'))
  })

  test('ids that two processes take in one lane rise in the order of their commits', async () => {
    const other = await open()
    const taken: string[] = []
    const take = (on: typeof store) =>
      on.writer.write(nodeLane, async (tx) => {
        const id = tx.id()
        // Within the lock, so the order of the rows is that of the commits.
        await tx.db.insertInto('owner_links').values(link(id)).execute()
        taken.push(id)
      })
    for (let round = 0; round < 10; round += 1) await Promise.all([take(store), take(other)])
    expect(taken).toEqual([...taken].sort())
    expect(new Set(taken).size).toBe(20)
    await other.close()
  })

  test('a unit that changes rows without an id advances its lane, and one that changes none does not', async () => {
    const last = () =>
      onDatabase(data, async (client) => {
        const { rows } = await client.query<{ last: string }>('SELECT last FROM lanes WHERE lane = $1', [
          nodeLane,
        ])
        return rows[0]?.last ?? ''
      })
    const change = () =>
      store.writer.write(nodeLane, (tx) =>
        tx.db.updateTable('owner_users').set({ state: 'enabled' }).execute(),
      )
    await change()
    const before = await last()
    await store.writer.write(nodeLane, (tx) => tx.db.selectFrom('server').select('server_id').execute())
    expect(await last()).toBe(before)
    await change()
    expect((await last()) > before).toBe(true)
  })

  test.each([
    ['a lane that holds less', "UPDATE lanes SET last = ''"],
    ['a lane that is gone', 'DELETE FROM lanes'],
  ])(
    '%s ends a write, which records the loss at once: a write of another node may hide it',
    async (_, lose) => {
      const advance = () =>
        store.writer.write(nodeLane, (tx) =>
          tx.db.updateTable('owner_users').set({ state: 'enabled' }).execute(),
        )
      await advance()
      const { last } = await rowOf<{ last: string }>(`SELECT last FROM lanes WHERE lane = '${nodeLane}'`)
      await change(`${lose} WHERE lane = '${nodeLane}'`)
      expect(await outcomes([advance()])).toEqual(['unavailable'])
      await change(`UPDATE lanes SET last = '${last}' WHERE lane = '${nodeLane}'`)
      const { forgotten } = await rowOf<{ forgotten: string }>('SELECT forgotten FROM place')
      expect(forgotten).toContain('the database has lost confirmed writes: for the installation')
      await change('UPDATE place SET forgotten = NULL')
      await expect.poll(() => outcomes([advance()])).toEqual(['done'])
    },
  )

  test('the tests refuse a row of a project whose lane the unit does not name', async () => {
    const outside = store.writer.write(nodeLane, async (tx) => {
      const [id, project_id] = [tx.id(), tx.id()]
      await tx.db
        .insertInto('environments')
        .values({ id, project_id, name: 'n', kind: 'ci', description: '', created_at: tx.nowIso })
        .execute()
    })
    await expect(outside).rejects.toThrow('outside its lane')
  })

  test('a busy process does not keep another one from its lane', async () => {
    const busy = await open()
    let isOver = false
    const held = (async () => {
      while (!isOver) await Promise.all([1, 2, 3, 4].map(() => busy.writer.write(nodeLane, (tx) => rest(tx))))
    })()
    // Requests of other lanes keep each group of this process running.
    const others = (async () => {
      while (!isOver) await store.writer.write(noLane, (tx) => rest(tx))
    })()
    const beganMs = performance.now()
    for (let round = 0; round < 20; round += 1) await store.writer.write(nodeLane, (tx) => rest(tx))
    const tookMs = performance.now() - beganMs
    isOver = true
    await Promise.all([held, others])
    await busy.close()
    // A process that gets no turn waits without end.
    expect(tookMs / 20).toBeLessThan(1000)
  })

  test('the database may end a snapshot that stands still for 10 s', async () => {
    const limit = await store.reader.read(async (db) => {
      const { rows } = await sql<{ limit: string }>`
        SELECT current_setting('idle_in_transaction_session_timeout') AS limit`.execute(db)
      return rows[0]?.limit
    })
    expect(limit).toBe('10s')
  })

  test('a node removes one whose beats have stopped, and none if its own beat looks as old', async () => {
    const connection = await PostgresConnection.open({ url })
    const names = async () => {
      const { rows } = await connection.query<{ name: string }>({
        text: 'SELECT name FROM nodes ORDER BY name',
      })
      return rows.map(({ name }) => name)
    }
    await connection.query({ text: 'BEGIN; LOCK TABLE nodes IN EXCLUSIVE MODE' })
    await connection.query({ text: "UPDATE nodes SET seen_at = clock_timestamp() - interval '1 hour'" })
    await connection.query({
      text: `INSERT INTO nodes (id, machine, pid, name, version, program, alone, started_at, seen_at)
        SELECT 'silent', machine, pid, 'silent', version, program, alone, started_at, seen_at FROM nodes`,
    })
    await removeDead(connection, store.nodes.id)
    expect(await names()).toEqual(['node', 'silent'])
    await connection.query({ text: "UPDATE nodes SET seen_at = clock_timestamp() WHERE name = 'node'" })
    await removeDead(connection, store.nodes.id)
    expect(await names()).toEqual(['node'])
    await connection.query({ text: 'ROLLBACK' })
    await connection.close()
  })

  test('a node that the others have removed writes nothing until it has joined again', async () => {
    // Its next beat may come before the write, so it cannot join again yet.
    await change(`CREATE FUNCTION keep_out() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'not now'; END $$;
      CREATE TRIGGER keep_out BEFORE INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION keep_out();
      DELETE FROM nodes`)
    const writes = () => outcomes([store.writer.write(nodeLane, (tx) => add(tx, 'dan'))])
    expect(await writes()).toEqual(['unavailable'])
    expect(store.nodes.isMember()).toBe(false)
    await expect(store.reader.read((db) => findOwner(db))).rejects.toMatchObject({ code: 'unavailable' })
    await change('DROP TRIGGER keep_out ON nodes')
    await expect.poll(writes).toEqual(['done'])
    expect(store.nodes.leads()).toBe(true)
    expect(fatal).toEqual([])
  })

  test('a node that another one has taken over from writes nothing more and stops', async () => {
    // Its next beat may come before the other one has joined.
    await change(`CREATE TRIGGER keep_out BEFORE INSERT ON nodes FOR EACH ROW WHEN (NEW.name = 'node')
        EXECUTE FUNCTION keep_out();
      DELETE FROM nodes`)
    await onDatabase(data, async (client) => {
      const connection = await PostgresConnection.open({ url })
      await joinDatabase(connection, { ...testNode('thief'), program: migrations.length })
      await connection.close()
      await client.query("UPDATE nodes SET machine = 'elsewhere'")
    })
    await change('DROP TRIGGER keep_out ON nodes')
    const stolen = () => outcomes([store.writer.write(nodeLane, (tx) => add(tx, 'stolen'))])
    expect(await stolen()).toEqual(['unavailable'])
    await expect.poll(() => fatal).toMatchObject([{ name: 'TakenOverError' }])
    expect(await stolen()).toEqual(['unavailable'])
    expect(store.nodes.isMember()).toBe(false)
    expect(await change("SELECT 1 FROM owner_users WHERE name = 'stolen'")).toBe(0)
  })
})

/** Holds the lane for some statements. */
const rest = async (tx: Tx) => {
  for (let index = 0; index < 3; index += 1) await findOwner(tx.db)
}

const link = (id: string) => ({
  token_sha256: Buffer.from(id),
  kind: 'sign_in' as const,
  created_at: id,
  expires_at: id,
  used_at: null,
  user_id: null,
})
