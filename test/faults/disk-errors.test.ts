/**
 * A disk that fails: the outcome is unknown, so the server says 503 and ends; asking again with the same key tells.
 *
 * Contract §2 "Group commit"; reliability §3.1 F5, F6.
 */
import { expect, onTestFinished, test } from 'vitest'
import { databasePath } from '../../server/store-files.ts'
import { settlePeople } from '../support/people.ts'
import { startServerProcess } from '../support/process.ts'
import { checkStore } from './invariants.ts'
import { withStoreCopy } from './store-copy.ts'
import { attach, canTrace } from './strace.ts'

test.skipIf(!canTrace).each([
  { what: 'the sync of the log', calls: 'fsync,fdatasync', nth: 2 },
  { what: 'a write of the log', calls: 'pwrite64', nth: 30 },
])('when $what fails, the server ends with 1 and each key has one effect', async ({ calls, nth }) => {
  const server = await startServerProcess()
  onTestFinished(() => server.close())
  const { ada, ben } = await settlePeople(server)
  const conversation = await ada.conversationWith(ben.id)
  const keys = Array.from({ length: 8 }, (_, index) => `disk-error-${index}`)
  const send = (key: string) => {
    const body = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: key }
    return ada.call({ target: '/api/v1/messages', body, key }).catch(() => undefined)
  }

  const inject = `inject=${calls}:error=EIO:when=${nth}+`
  const tracer = await attach(server.pid, [
    '-P',
    `${databasePath(server.data)}-wal`,
    '-e',
    inject,
    '-o',
    '/dev/null',
  ])
  const replies = []
  for (const key of keys) replies.push(await send(key))
  expect(await server.ended).toEqual({ code: 1, signal: null })
  await tracer.detach()
  expect(replies.filter((reply) => reply !== undefined && ![200, 503].includes(reply.status))).toEqual([])
  expect(replies.filter((reply) => reply?.status === 503)).not.toEqual([])
  expect(withStoreCopy(server.data, checkStore)).toEqual([])

  await server.start()
  for (const [index, key] of keys.entries()) {
    const again = await send(key)
    expect(again?.status).toBe(200)
    if (replies[index]?.status === 200) expect(again?.text).toBe(replies[index]?.text)
  }
  const target = `/api/v1/conversations/${conversation}/messages`
  const { messages } = await ada.ok<{ messages: { body: string }[] }>({ target })
  expect(messages.map(({ body }) => body)).toEqual(keys)
  expect(withStoreCopy(server.data, checkStore)).toEqual([])
})
