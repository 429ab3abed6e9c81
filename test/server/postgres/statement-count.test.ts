/**
 * How many statements reach PostgreSQL for a send in a full group, with and without merging. Runs with
 * `BRIDGE_TEST_STORE=postgres`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { startServer } from '../../../server/server.ts'
import type { TestAgent } from '../../support/agent.ts'
import { dropConnections } from '../../support/http.ts'
import { makeInstallation } from '../../support/installation.ts'
import { asTestAgent, populate } from '../../support/population.ts'
import { dropDatabase, isOnPostgres, onDatabase, storeSettings } from '../../support/postgres.ts'

const senders = 32
/** The node waits up to 5 seconds for a lane. */
const within = { timeout: 4000 }

/** Counts the statements that a client executes: each is one message `Execute` or `Query` of the protocol. */
async function startCounter(database: string) {
  const target = new URL(database)
  let executed = 0
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
    let unread = Buffer.alloc(0)
    let isStarted = false
    near.on('data', (bytes: Buffer) => {
      far.write(bytes)
      unread = Buffer.concat([unread, bytes])
      // The first message has no type.
      for (;;) {
        const head = isStarted ? 1 : 0
        if (unread.length < head + 4) return
        const length = head + unread.readUInt32BE(head)
        if (unread.length < length) return
        if (isStarted && 'EQ'.includes(String.fromCharCode(unread[0] ?? 0))) executed += 1
        isStarted = true
        unread = unread.subarray(length)
      }
    })
    far.pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(database)
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  return { url: url.href, executed: () => executed, close: () => server.close() }
}

/** Returns the number of statements for each send, if all but the first are in one group. */
async function statementsASend(settings: Readonly<Record<string, string>>): Promise<number> {
  const data = mkdtempSync(join(tmpdir(), 'bridge-'))
  await makeInstallation(readConfig({ data }, {}))
  const counter = await startCounter(storeSettings(data).database ?? '')
  const quiet = { port: '0', reserve_bytes: '0', log_level: 'silent', metrics_port: '0' }
  const config = readConfig({ data, ...quiet, database: counter.url, ...settings }, {})
  // The first start sets the replay floor. There are no credentials yet, so it refuses no proof.
  await (await startServer(config)).stop()
  const { projectId, agents, conversations } = populate(data, 2 * senders, senders)
  const server = await startServer(config)
  const people = agents.map((agent) => asTestAgent(server, projectId, agent))
  const sends = people.slice(0, senders).map((sender, index) => () => {
    const recipient = people[senders + index] as TestAgent
    return sender.send(conversations[senders + index] ?? '', recipient.id, 'hello')
  })
  const queued = async () => {
    const text = await (await fetch(server.metricsUrl ?? '')).text()
    return Number(/^bridge_queue_length\{queue="writes"\} (\d+)/m.exec(text)?.[1])
  }
  try {
    // The first groups tell the node the types of the parameters.
    for (let round = 0; round < 2; round += 1) await Promise.all(sends.map((send) => send()))
    const before = counter.executed()
    await onDatabase(data, async (client) => {
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM lanes WHERE lane = $1 FOR UPDATE', [projectId])
      const [first, ...others] = sends
      const sent = [first?.()]
      const waiting =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      await expect.poll(async () => (await client.query(waiting)).rowCount, within).toBe(1)
      sent.push(...others.map((send) => send()))
      await expect.poll(queued, within).toBe(senders - 1)
      await client.query('COMMIT')
      await Promise.all(sent)
    })
    return (counter.executed() - before) / senders
  } finally {
    await server.stop()
    dropConnections(server.url)
    counter.close()
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  }
}

describe.skipIf(!isOnPostgres)('a send in a full group', () => {
  test('takes at most three statements', async () => {
    const merged = await statementsASend({})
    const unmerged = await statementsASend({ merge_statements: 'off' })
    expect(merged).toBeLessThanOrEqual(3)
    expect(unmerged).toBeGreaterThan(2 * merged)
  })
})
