/**
 * A database that refuses statements and commits: no space, a deadlock, a lock that is held. Each is answered as
 * the catalogue says, the process stays, and the node recovers without a restart.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { bugsIn, readyAfter } from '../lab/postgres/load.ts'

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
    await cluster.query('CREATE DATABASE node OWNER node')
    urlFile = join(cluster.folder, 'url')
    writeFileSync(urlFile, urlWith('first'), { mode: 0o600 })
    server = await startServerProcess({ settings: { database_url_file: urlFile } })
    pid = server.pid
    people = await settlePeople(server, { message_budget: 1_000_000 })
    conversation = await people.ada.conversationWith(people.ben.id)
    await inside(faultsOnDemand)
  })
  beforeEach(async () => {
    await readyAfter(server)
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
