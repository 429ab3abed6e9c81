/**
 * A server that is suspended, whose clients reset their connections in the middle of a request, or that
 * reaches its limit of open files: it continues afterwards, and stores no partial data.
 *
 * BRIDGE_STOPPED_SECONDS=30 suspends it for that time, BRIDGE_RESETS=5000 resets that many connections.
 * Reliability §3.1 F9, F15, F26.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { limits } from '../../sdk/contract/limits.ts'
import { deadAfterMs } from '../../server/database/postgres/alive.ts'
import { beatEveryMs } from '../../server/database/postgres/nodes.ts'
import { type People, settlePeople } from '../support/people.ts'
import { isOnPostgres } from '../support/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { RawConnection, signedText } from '../support/raw-client.ts'
import { openWait, untilListening } from '../support/waits.ts'

const stoppedMs = Number(process.env.BRIDGE_STOPPED_SECONDS ?? 1) * 1000
const resets = Number(process.env.BRIDGE_RESETS ?? 60)
/** A node on PostgreSQL that wrote no beat for ten seconds answers 503 until it has joined again. */
const mayBeRemoved = isOnPostgres && stoppedMs > deadAfterMs - beatEveryMs
const joinsWithinMs = 5000
/** The time of the wait is over when the server continues, so the message may come with the next wait. */
const isOver = stoppedMs >= limits.inboxWaitSeconds * 1000
const canLimit = spawnSync('prlimit', ['--version']).status === 0

let server: ServerProcess
let people: People
let conversation: string

beforeAll(async () => {
  server = await startServerProcess()
  people = await settlePeople(server, { message_budget: 1_000_000 })
  conversation = await people.ada.conversationWith(people.ben.id)
})
afterAll(() => server?.close())

const sending = (text: string, to = people.ben) => ({
  target: '/api/v1/messages',
  body: { conversation_id: conversation, recipient_agent_id: to.id, type: 'note', body: text },
  key: `key-${text.replaceAll(' ', '-')}`,
})

async function bodies(): Promise<string[]> {
  const all: string[] = []
  for (let after = 0, more = true; more; ) {
    const page = await people.ada.ok<{
      messages: { body: string }[]
      has_more: boolean
      next_sequence: number
    }>({
      target: `/api/v1/conversations/${conversation}/messages?after_sequence=${after}&limit=100`,
    })
    all.push(...page.messages.map(({ body }) => body))
    after = page.next_sequence
    more = page.has_more
  }
  return all
}

/** Sends the request's bytes on a new connection, except the last ones, then resets it. */
async function resetWithin(text: string, missing: number): Promise<void> {
  const whole = signedText(people.ada, sending(text), 'keep-alive')
  const connection = new RawConnection(server.port)
  await new Promise((resolve) => connection.socket.write(whole.slice(0, whole.length - missing), resolve))
  connection.reset()
}

test('connections reset in the middle of a request store no partial data, and repeating the key gives the outcome', async () => {
  const pid = server.pid
  for (let nth = 0; nth < resets; nth += 1) {
    await resetWithin(`cut ${nth}`, 1 + (nth % 50))
    await resetWithin(`whole ${nth}`, 0)
  }
  expect((await bodies()).filter((text) => text.startsWith('cut'))).toEqual([])
  for (let nth = 0; nth < resets; nth += 1)
    expect((await people.ada.call(sending(`whole ${nth}`))).status).toBe(200)
  const expected = Array.from({ length: resets }, (_, nth) => `whole ${nth}`)
  expect((await bodies()).sort()).toEqual(expected.sort())
  expect([server.pid, server.errors]).toEqual([pid, ''])
})

test('a suspended server answers the requests that arrived meanwhile, and its sessions and waits continue', async () => {
  const { ada, ben } = people
  const wait = openWait(ada)
  onTestFinished(() => wait.leave())
  await untilListening(people, ada)
  onTestFinished(() => void process.kill(server.pid, 'SIGCONT'))
  process.kill(server.pid, 'SIGSTOP')
  let isAnswered = false
  const sent = ben.call(sending('while it was stopped', ada)).finally(() => {
    isAnswered = true
  })
  await delay(stoppedMs)
  expect(isAnswered).toBe(false)
  process.kill(server.pid, 'SIGCONT')
  const first = await sent
  if (mayBeRemoved && first.status === 503) {
    expect(first.json).toMatchObject({ error: 'unavailable', retry_after_ms: expect.any(Number) })
    const again = async () => (await ben.call(sending('while it was stopped', ada))).status
    await expect.poll(again, { timeout: joinsWithinMs }).toBe(200)
  } else expect(first.status).toBe(200)
  const messages = [{ body: 'while it was stopped' }]
  const answer = await wait.answer
  if (mayBeRemoved && answer?.status === 503) {
    expect(answer.body).toMatchObject({ error: 'unavailable', retry_after_ms: expect.any(Number) })
    expect(await ada.inbox('?wait_seconds=20')).toMatchObject({ messages })
  } else if (isOver && answer?.body.messages?.length === 0) {
    expect(answer.status).toBe(200)
    expect(await ada.inbox('?wait_seconds=20')).toMatchObject({ messages })
  } else expect(answer).toMatchObject({ status: 200, body: { messages } })
  expect((await bodies()).filter((text) => text === 'while it was stopped')).toHaveLength(1)
  expect((await ada.call({ target: '/api/v1/peers' })).status).toBe(200)
  expect(server.errors).toBe('')
})

/** The processor time of the server in milliseconds. */
function processorMs(): number {
  const [, fields = ''] = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')
  const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number)
  return (user + system) * 10
}

test.runIf(canLimit)(
  'a server at its limit of open files does not busy-loop, and continues once it is below the limit',
  async () => {
    const open = readdirSync(`/proc/${server.pid}/fd`).length
    const limit = (files: string) =>
      expect(spawnSync('prlimit', ['--pid', String(server.pid), `--nofile=${files}`]).status).toBe(0)
    limit(`${open + 10}:`)
    const sockets: Socket[] = []
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      limit('4096:')
    })
    for (let count = 0; count < 60; count += 1) {
      const socket = connect(server.port, '127.0.0.1')
      socket.on('error', () => {})
      sockets.push(socket)
    }
    await expect.poll(() => readdirSync(`/proc/${server.pid}/fd`).length).toBeGreaterThanOrEqual(open + 9)
    const before = processorMs()
    await delay(500)
    expect(processorMs() - before).toBeLessThan(250)
    for (const socket of sockets) socket.destroy()
    const status = () =>
      people.ada.call({ target: '/api/v1/peers' }).then(
        (reply) => reply.status,
        () => 0,
      )
    await expect.poll(status).toBe(200)
    expect(server.errors).toBe('')
  },
)
