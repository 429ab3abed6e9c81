/**
 * Stopping the server: waits end, requests in flight finish, and no acknowledged write is lost. Reliability
 * §1 P22.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataFolderLockedError } from '../../server/database/sqlite/lock.ts'
import { startServer } from '../../server/server.ts'
import { addressPath, databasePath } from '../../server/storage/data-folder.ts'
import { enroll, type TestAgent } from '../support/agent.ts'
import { startBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { type People, settlePeople } from '../support/people.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { watchServed } from '../support/served.ts'
import { openTwoWaits } from '../support/waits.ts'

describe('the program', () => {
  let server: ServerProcess
  let people: People

  beforeEach(async () => {
    server = await startServerProcess()
    people = await settlePeople(server)
  })
  afterEach(() => server.close())

  async function moreAgents(count: number): Promise<TestAgent[]> {
    const { owner, project } = people
    const agents: TestAgent[] = []
    for (let index = 0; index < count; index++) {
      const { id } = await owner.createAgent(project.id, `listener ${index}`)
      const agent = await enroll(server.url, await owner.enrollmentCode(project.id, id), () => new Date())
      await agent.startSession()
      agents.push(agent)
    }
    return agents
  }

  test('after SIGTERM with fifty open waits each is answered, and the exit code is 0 in less than 15 seconds', async () => {
    const agents = await moreAgents(25)
    const waits = (await Promise.all(agents.map(openTwoWaits))).flat()

    const began = performance.now()
    const ending = await server.kill('SIGTERM')
    expect(ending).toEqual({ code: 0, signal: null })
    expect(performance.now() - began).toBeLessThan(15_000)
    const answers = await Promise.all(waits.map(({ answer }) => answer))
    expect(new Set(answers.map((answer) => answer?.status))).toEqual(new Set([200]))
    expect(answers.flatMap((answer) => answer?.body.messages)).toEqual([])
    expect(existsSync(addressPath(server.data))).toBe(false)
    expect(existsSync(`${databasePath(server.data)}-wal`)).toBe(false)
    expect(server.errors).toBe('')
  })

  test('writes answered during the stop are stored at the next start, and unanswered ones can be retried', async () => {
    const { ada, ben } = people
    const conversation = await ada.conversationWith(ben.id)
    const keys = Array.from({ length: 40 }, (_, index) => `stopping-${index}`)
    const send = (key: string) => {
      const body = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: key }
      return ada.call({ target: '/api/v1/messages', body, key })
    }
    const first = send(keys[0] ?? '')
    const others = keys.slice(1).map((key) => send(key).catch(() => undefined))
    await first
    expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    const replies = [await first, ...(await Promise.all(others))]
    expect(replies.filter((reply) => reply !== undefined && ![200, 503].includes(reply.status))).toEqual([])

    await server.start()
    const page = await ada.ok<{ messages: { body: string }[] }>({
      target: `/api/v1/conversations/${conversation}/messages?limit=100`,
    })
    const stored = page.messages.map(({ body }) => body)
    const answered = keys.filter((_, index) => replies[index]?.status === 200)
    expect(answered.filter((key) => !stored.includes(key))).toEqual([])

    for (const [index, key] of keys.entries()) {
      const again = await send(key)
      expect(again.status).toBe(200)
      if (replies[index]?.status === 200) expect(again.text).toBe(replies[index].text)
    }
    const after = await ada.ok<{ messages: { body: string }[] }>({
      target: `/api/v1/conversations/${conversation}/messages?limit=100`,
    })
    expect(after.messages.map(({ body }) => body).sort()).toEqual([...keys].sort())
  })

  test('a second server on the folder is refused, and the first continues', async () => {
    const config = testConfig(server.data, { port: '0', log_level: 'silent', reserve_bytes: '0' })
    await expect(startServer(config)).rejects.toThrow(DataFolderLockedError)
    expect((await people.ada.call({ target: '/api/v1/peers' })).status).toBe(200)
    await server.kill('SIGKILL')
    const second = await startServer(config)
    expect(second.serverId).toBe(people.ada.enrolled.server_id)
    await second.stop()
  })
})

test('a request that arrives during the stop is answered with a delay to retry, and changes nothing', async () => {
  const bridge = await startBridge()
  const { ada, ben, server } = bridge
  const body = {
    conversation_id: await ada.conversationWith(ben.id),
    recipient_agent_id: ben.id,
    type: 'note',
  }
  const bytes = JSON.stringify({ ...body, body: 'too late' })
  const call = { target: '/api/v1/messages', body: bytes, key: 'while-it-stops' }
  const head = ada.sign(call, bytes).map(([name, value]) => `${name}: ${value}\r\n`)
  const served = watchServed()
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`POST ${call.target} HTTP/1.1\r\nHost: x\r\n${head.join('')}`)
  // The connection is busy then, and the stop waits for it.
  const side = await served.of(socket)
  await expect.poll(() => side.bytesRead).toBeGreaterThan(0)
  served.stop()

  const stopped = server.stop()
  // The connection is reset if the system had accepted it and the server had not.
  await expect(ada.call({ target: '/api/health' })).rejects.toThrow(/ECONNREFUSED|ECONNRESET/)
  socket.write(`Content-Length: ${Buffer.byteLength(bytes)}\r\n\r\n${bytes}`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 503 /)
  expect(answer.toString().toLowerCase()).toContain('retry-after: 1')
  expect(answer.toString()).toContain('"error":"unavailable"')
  socket.destroy()
  await stopped

  const again = await bridge.restart()
  const inbox = await ben.inbox()
  expect(inbox.messages).toEqual([])
  expect((await ada.call(call)).status).toBe(200)
  await again.close()
})
