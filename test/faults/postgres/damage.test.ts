/**
 * A PostgreSQL database with a damaged page. Every answer is the stored data or 503, the process stays, and
 * it answers again once the page is repaired. `bridge server doctor` and a refused start name the remedy,
 * with exit code 15.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Desk } from '../../support/desk.ts'
import { told } from '../../support/files.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { bugsIn, readyAfter } from '../lab/postgres/load.ts'

postgresOnly()

const pageBytes = 8192
const readyWithinMs = 2000
const overwrite = (page: Buffer) => page.fill(9, 100)
const empty = (page: Buffer) => page.fill(0)
const integrity = 15

interface Found {
  readonly check: string
  readonly state: string
  readonly text: string
  readonly remedy: string
}

describe.skipIf(!hasPostgres)('a node whose database has a damaged page', () => {
  let cluster: Cluster
  let server: ServerProcess
  let desk: Desk
  let people: People
  let conversation: string
  let pid: number
  let repair = () => {}
  const sent = Array.from({ length: 12 }, (_, index) => `message ${index}`)

  beforeAll(async () => {
    cluster = await Cluster.start()
    desk = await Desk.make()
    server = await startServerProcess({ settings: { database: cluster.url } })
    pid = server.pid
    people = await settlePeople(server)
    const { ada, ben } = people
    conversation = await ada.conversationWith(ben.id)
    for (const text of sent) await ada.send(conversation, ben.id, text)
  })
  afterEach(async () => {
    if (!cluster.isRunning) await cluster.start()
    cluster.stop()
    repair()
    await cluster.start()
    if (Number.isNaN(server.pid)) await server.start()
  })
  afterAll(async () => {
    await desk?.remove()
    await server?.close()
    await cluster?.close()
  })

  /** Changes the first pages of the file of a table or index while PostgreSQL is stopped. */
  async function damage(relation: string, change: (page: Buffer) => void): Promise<void> {
    const [found] = await cluster.query<{ path: string }>('SELECT pg_relation_filepath($1) AS path', [
      relation,
    ])
    const path = join(cluster.data, found?.path ?? '')
    cluster.stop()
    const intact = readFileSync(path)
    repair = () => {
      writeFileSync(path, intact)
      repair = () => {}
    }
    const damaged = Buffer.from(intact)
    for (let at = 0; at < damaged.length; at += pageBytes) change(damaged.subarray(at, at + pageBytes))
    writeFileSync(path, damaged)
    await cluster.start()
  }

  const messages = () => ({ target: `/api/v1/conversations/${conversation}/messages` })
  const bodies = async () => {
    const { json } = await people.ben.call(messages())
    return (json as { messages: { body: string }[] }).messages.map(({ body }) => body)
  }
  const doctor = async () => {
    const { code, stdout } = await desk.run(['server', 'doctor', '--json', '--data', server.data], {
      environment: { BRIDGE_DATABASE_URL: cluster.url },
    })
    const { findings } = JSON.parse(stdout) as { findings: Found[] }
    return { code, found: findings.filter(({ check }) => check === 'pages' || check === 'database') }
  }

  test('doctor finds no damage, and says if PostgreSQL would notice none', async () => {
    const { code, found } = await doctor()
    expect([code, found]).toMatchObject([0, [{ state: 'ok' }, { check: 'pages', state: 'ok' }]])
  })

  test.each([
    ['a table', 'messages', overwrite],
    ['an index', 'messages_pkey', overwrite],
    ['an index of empty pages', 'messages_pkey', empty],
  ])('answers 503 from %s, and everything else', async (_what, relation, change) => {
    await damage(relation, change)
    expect(await readyAfter(server)).toBeLessThan(readyWithinMs)
    const { ada, ben } = people
    const key = `refused-${relation}-${change.name}`
    const body = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: key }
    const send = { target: '/api/v1/messages', body, key }
    expect(told(await ada.call(send))).toEqual([503, 'unavailable'])
    expect((await ada.call({ target: '/api/v1/peers' })).status).toBe(200)
    expect(server.pid).toBe(pid)
    expect(bugsIn(server.errors)).toEqual([])
    expect(server.errors).toMatch(/invalid page|unexpected zero page/)
    cluster.stop()
    repair()
    await cluster.start()
    expect(await readyAfter(server)).toBeLessThan(readyWithinMs)
    expect((await bodies()).slice(0, sent.length)).toEqual(sent)
    expect((await ada.call(send)).status).toBe(200)
    expect((await bodies()).filter((text) => text === key)).toHaveLength(1)
  })

  test('a read of damaged pages is refused, and doctor names the remedy', async () => {
    await damage('messages', overwrite)
    expect(await readyAfter(server)).toBeLessThan(readyWithinMs)
    expect(told(await people.ben.call(messages()))).toEqual([503, 'unavailable'])
    const { code, found } = await doctor()
    expect(code).toBe(integrity)
    expect(found).toMatchObject([
      { state: 'ok' },
      {
        check: 'pages',
        state: 'problem',
        text: expect.stringMatching(/found damaged pages \d+ times/),
        remedy: expect.stringContaining('bridge server restored'),
      },
    ])
  })

  test('a start that meets damaged pages is refused', async () => {
    await server.kill('SIGTERM')
    await damage('lanes', overwrite)
    await expect(server.start()).rejects.toThrow('the database is damaged')
    expect((await server.ended).code).toBe(integrity)
    expect((await doctor()).found).toMatchObject([
      { state: 'problem', text: expect.stringContaining('invalid page'), remedy: expect.any(String) },
    ])
  })
})
