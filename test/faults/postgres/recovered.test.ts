/**
 * A COMMIT whose outcome the database cannot tell, because the database was killed before it answered. The caller
 * gets 503. If the database answers again, the caller may repeat the request at once, and its key has one effect.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'

postgresOnly()

describe.skipIf(!hasPostgres)('a COMMIT that a killed database did not answer', () => {
  let cluster: Cluster
  let server: ServerProcess
  let people: People
  let conversation: string

  beforeAll(async () => {
    cluster = await Cluster.start()
    server = await startServerProcess({ settings: { database: cluster.url } })
    people = await settlePeople(server)
    conversation = await people.ada.conversationWith(people.ben.id)
  })
  afterAll(async () => {
    await server?.close()
    await cluster?.close()
  })

  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'"
  const send = (key: string) => {
    const letter = { recipient_agent_id: people.ben.id, type: 'note', body: key }
    const body = { conversation_id: conversation, ...letter }
    return people.ada.call({ target: '/api/v1/messages', body, key })
  }

  /** Sends a message whose COMMIT waits for a standby that does not exist, and kills the database. */
  async function sendIntoCrash(key: string) {
    await cluster.requireStandby('nobody')
    const answer = send(key)
    await expect.poll(async () => (await cluster.query(waiting)).length).toBe(1)
    await cluster.kill()
    cluster.configure(["synchronous_standby_names = ''"])
    return { answer }
  }

  test('is repeated at once if the database answers again', async () => {
    const key = randomUUID()
    const { answer } = await sendIntoCrash(key)
    const beganMs = performance.now()
    await cluster.start()
    // The node asks the database for five seconds.
    const isSoon = performance.now() - beganMs < 4000
    const json = { error: 'unavailable', ...(isSoon && { retry_after_ms: 100 }) }
    expect(await answer).toMatchObject({ status: 503, json })
    expect(await send(key)).toMatchObject({ status: 200 })
    const stored = await cluster.query('SELECT count(*)::int FROM messages WHERE body = $1', [key])
    expect(stored).toEqual([{ count: 1 }])
  })

  test('is repeated after a second if it does not', async () => {
    const { answer } = await sendIntoCrash(randomUUID())
    expect(await answer).toMatchObject({ status: 503, json: { error: 'unavailable', retry_after_ms: 1000 } })
    await cluster.start()
  }, 30_000)
})
