/**
 * A database that refuses: no space, no connection, a changed password, a deadlock, a lock that is held, a
 * set clock. Each is answered as the catalogue says, the process stays, and the node recovers without a
 * restart.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { TestAgent } from '../../support/agent.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { bugsIn, readyAfter } from '../lab/postgres/load.ts'

postgresOnly()

const password = (word: string) => `ALTER ROLE node PASSWORD '${word}'`

describe.skipIf(!hasPostgres)('a node whose database refuses', () => {
  let cluster: Cluster
  let server: ServerProcess
  let people: People
  let conversation: string
  let pid: number
  let urlFile: string

  const urlWith = (word: string) => `postgres://node:${word}@127.0.0.1:${cluster.port}/node`
  /** Queries the database of the node as the superuser. */
  const inside = (text: string) => cluster.query(text, [], cluster.url.replace(/\/postgres$/, '/node'))

  beforeAll(async () => {
    cluster = await Cluster.start(['max_connections = 20'], ['host all node 127.0.0.1/32 scram-sha-256'])
    await cluster.query("CREATE ROLE node LOGIN PASSWORD 'first'")
    await cluster.query('CREATE ROLE other LOGIN')
    await cluster.query('CREATE DATABASE node OWNER node')
    urlFile = join(cluster.folder, 'url')
    writeFileSync(urlFile, urlWith('first'), { mode: 0o600 })
    await inside(clockThatCanBeSet)
    server = await startServerProcess({ settings: { database_url_file: urlFile } })
    pid = server.pid
    people = await settlePeople(server, { message_budget: 1_000_000 })
    conversation = await people.ada.conversationWith(people.ben.id)
    await inside(faultsOnDemand)
  })
  beforeEach(async () => {
    expect(await readyAfter(server)).toBeLessThan(2000)
  })
  afterAll(async () => {
    const errors = server === undefined ? [] : bugsIn(server.errors)
    const isSame = server?.pid === pid
    await server?.close()
    await cluster?.close()
    expect({ errors, isSame }).toEqual({ errors: [], isSame: true })
  })

  const sending = (text: string) => ({
    target: '/api/v1/messages',
    body: { conversation_id: conversation, recipient_agent_id: people.ben.id, type: 'note', body: text },
    key: `key-of-${text}`,
  })
  const statusOf = async (text: string) => {
    const { status, json, headers } = await people.ada.call(sending(text))
    return { status, error: (json as { error?: string }).error, waits: headers['retry-after'] !== undefined }
  }
  const stored = async (text: string) =>
    (await inside(`SELECT 1 FROM messages WHERE body = '${text}'`)).length

  test.each([
    ['no space', '53100', 'storage_full'],
    ['no memory', '53200', 'unavailable'],
    ['a failed disk', '58030', 'unavailable'],
    ['a deadlock', '40P01', 'unavailable'],
    ['a lock that is not free', '55P03', 'unavailable'],
    ['a statement that takes too long', '57014', 'unavailable'],
    ['a standby', '25006', 'unavailable'],
  ])('%s at a statement is refused, and the key succeeds later', async (_name, code, error) => {
    await inside(`UPDATE faults SET code = '${code}', at_commit = false`)
    const text = `statement-${code}`
    expect(await statusOf(text)).toEqual({ status: 503, error, waits: true })
    await inside('UPDATE faults SET code = NULL')
    expect((await statusOf(text)).status).toBe(200)
    expect(await stored(text)).toBe(1)
  })

  test.each([
    ['no space', '53100', 'storage_full'],
    ['a deadlock', '40P01', 'unavailable'],
  ])('%s at COMMIT is refused, and the key succeeds later', async (_name, code, error) => {
    await inside(`UPDATE faults SET code = '${code}', at_commit = true`)
    const text = `commit-${code}`
    expect(await statusOf(text)).toEqual({ status: 503, error, waits: true })
    await inside('UPDATE faults SET code = NULL')
    expect((await statusOf(text)).status).toBe(200)
    expect(await stored(text)).toBe(1)
  })

  test('after no space the node is ready again without a request', async () => {
    await inside("UPDATE faults SET code = '53100', at_commit = false")
    expect(await statusOf('no-space')).toMatchObject({ error: 'storage_full' })
    await inside('UPDATE faults SET code = NULL')
    expect(await readyAfter(server)).toBeLessThan(2000)
  })

  test('a table that another client has locked delays writes for at most ten seconds', async () => {
    const holder = new pg.Client({ connectionString: cluster.url.replace(/\/postgres$/, '/node') })
    await holder.connect()
    onTestFinished(() => holder.end())
    await holder.query('BEGIN; LOCK TABLE messages IN ACCESS EXCLUSIVE MODE')
    const beganMs = performance.now()
    expect(await statusOf('locked')).toEqual({ status: 503, error: 'unavailable', waits: true })
    expect(performance.now() - beganMs).toBeLessThan(10_000)
    await holder.query('ROLLBACK')
    expect((await statusOf('locked')).status).toBe(200)
  })

  test('a table that another client has locked delays reads for at most 15 seconds', async () => {
    const { owner, project } = people
    const history = `/api/admin/projects/${project.id}/conversations/${conversation}/messages`
    const readings = async (target: string, times: number) => {
      const beganMs = performance.now()
      const replies = await Promise.all(Array.from({ length: times }, () => owner.call({ target })))
      const told = replies.map(({ status, headers }) => [status, headers['retry-after'] !== undefined])
      return { told: [...new Set(told.map(String))], ms: performance.now() - beganMs }
    }
    const holder = new pg.Client({ connectionString: cluster.url.replace(/\/postgres$/, '/node') })
    await holder.connect()
    onTestFinished(() => holder.end())
    await holder.query('BEGIN; LOCK TABLE messages IN ACCESS EXCLUSIVE MODE')
    const refused = await readings(history, 100)
    expect(refused.told).toEqual(['503,true'])
    // A request of the owner is two reads. Each may wait 5 s for its turn and 2 s for the lock.
    expect(refused.ms).toBeLessThan(15_000)
    // The reads that were refused left their connections to others.
    expect(await readings(`/api/admin/projects/${project.id}/audit`, 10)).toMatchObject({
      told: ['200,false'],
    })
    await holder.query('ROLLBACK')
    expect(await readings(history, 10)).toMatchObject({ told: ['200,false'] })
  })

  /** Ends the connections of the node. */
  const disconnect = () =>
    cluster.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node'")

  test('too many connections of others are 503 until they leave', async () => {
    const others: pg.Client[] = []
    const takeAll = async () => {
      for (let isFull = false; !isFull; ) {
        const other = new pg.Client({ connectionString: cluster.url.replace('postgres@', 'other@') })
        other.on('error', () => {})
        isFull = await other.connect().then(
          () => {
            others.push(other)
            return false
          },
          ({ code }: { code: string }) => code === '53300',
        )
      }
    }
    await takeAll()
    // Refused as if all places were taken, so that none is free while the others take those of the node.
    await cluster.query('ALTER ROLE node CONNECTION LIMIT 0')
    await disconnect()
    await takeAll()
    const refused = await statusOf('crowded')
    await cluster.query('ALTER ROLE node CONNECTION LIMIT -1')
    await Promise.all(others.map((other) => other.end()))
    expect(refused).toEqual({ status: 503, error: 'unavailable', waits: true })
    expect(await readyAfter(server)).toBeLessThan(2000)
    expect((await statusOf('crowded')).status).toBe(200)
  })

  test('a changed password is read from the file for the next connection', async () => {
    await cluster.query(password('second'))
    await disconnect()
    expect(await statusOf('rotated')).toEqual({ status: 503, error: 'unavailable', waits: true })
    writeFileSync(urlFile, urlWith('second'), { mode: 0o600 })
    expect(await readyAfter(server)).toBeLessThan(2000)
    expect((await statusOf('rotated')).status).toBe(200)
  })

  test('the clock of the database may be set without ending a claim early', async () => {
    const { ada, ben } = people
    const { id } = await ada.ok<{ id: string }>({
      target: '/api/v1/tasks',
      body: { assignee_agent_id: ben.id, title: 'clock', instructions: 'hold it', claim_ttl_seconds: 300 },
    })
    const target = `/api/v1/tasks/${id}`
    const { claim } = await ben.ok<{ claim: { generation: number; session_generation: number } }>({
      target: `${target}/claim`,
      body: {},
    })
    const renew = {
      target: `${target}/renew`,
      body: { claim_generation: claim.generation, session_generation: claim.session_generation },
    }
    await inside("UPDATE shim.clock SET ahead = '1 hour'")
    const isRefused = async () =>
      ((await ada.call({ target: '/api/v1/peers' })).json as { error?: string }).error
    // The node learns the time with its next group of writes.
    await expect.poll(isRefused).toBe('clock_skew')
    const later = new TestAgent(server.url, ben.keys, ben.enrolled, () => new Date(Date.now() + 3_600_000))
    later.session = ben.session
    expect((await later.call(renew)).status).toBe(200)
    await inside("UPDATE shim.clock SET ahead = '0'")
    await expect.poll(async () => (await ada.call({ target: '/api/v1/peers' })).status).toBe(200)
    expect((await ben.call(renew)).status).toBe(200)
    expect((await statusOf('set-back')).status).toBe(200)
  })
})

/** Raises the error of the row in `faults` when a message is stored. */
const faultsOnDemand = `
  CREATE TABLE faults (code text, at_commit boolean);
  INSERT INTO faults VALUES (NULL, false);
  CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  DECLARE fault faults;
  BEGIN
    SELECT * INTO fault FROM faults;
    IF fault.code IS NOT NULL AND fault.at_commit = (TG_NAME = 'fail_at_commit') THEN
      RAISE EXCEPTION 'asked for by the test' USING ERRCODE = fault.code;
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER fail_at_statement AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION fail();
  CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON messages DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fail()`

/** Puts a function that the test can set in place of the clock that the node reads. */
const clockThatCanBeSet = `
  CREATE SCHEMA shim;
  CREATE TABLE shim.clock (ahead interval);
  INSERT INTO shim.clock VALUES ('0');
  CREATE FUNCTION shim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM shim.clock';
  GRANT USAGE ON SCHEMA shim TO node;
  GRANT SELECT ON shim.clock TO node;
  ALTER ROLE node IN DATABASE node SET search_path = public, shim, pg_catalog`
