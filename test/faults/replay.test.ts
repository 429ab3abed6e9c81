/**
 * A captured request is refused after SIGKILL, and at another process on the same store. Contract §3;
 * reliability §1 P8.
 */

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Nonce } from '../../server/database/nonces.ts'
import { type People, settlePeople } from '../support/people.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { exchangeOne, signedText } from '../support/raw-client.ts'

let server: ServerProcess
let people: People

beforeAll(async () => {
  server = await startServerProcess()
  people = await settlePeople(server)
})
afterAll(() => server.close())

test('a request accepted before SIGKILL is a replay afterwards, even if the handler had refused it', async () => {
  const { ada, ben } = people
  const conversation = await ada.conversationWith(ben.id)
  const note = (text: string) => ({
    target: '/api/v1/messages',
    body: { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: text },
  })
  const captured = [
    ...Array.from({ length: 20 }, (_, index) => signedText(ada, note(`note ${index}`))),
    signedText(ada, { target: '/api/v1/peers' }),
    signedText(ada, { target: '/api/v1/bootstrap', session: null }),
    signedText(ada, { ...note('to nobody'), body: {} }),
  ]
  const first = await Promise.all(captured.map((bytes) => exchangeOne(server.port, bytes)))
  expect(first.map(({ status }) => status)).toEqual([...Array(22).fill(200), 422])

  await server.kill('SIGKILL')
  await server.start()
  const second = await Promise.all(captured.map((bytes) => exchangeOne(server.port, bytes)))
  expect(new Set(second.map(({ error }) => error))).toEqual(new Set(['request_replayed']))
})

/** Opens the server's store in another process; resolves once it is open. */
async function openElsewhere(): Promise<(nonces: readonly Nonce[]) => Promise<number>> {
  const entry = fileURLToPath(new URL('../support/second-store.ts', import.meta.url))
  const child = spawn(process.execPath, [entry, server.data], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  return async (nonces) => {
    child.stdin.end(`${JSON.stringify(nonces)}\n`)
    const { value } = await lines.next()
    await ended
    return Number(value)
  }
}

const nonceFor = (nonce = randomBytes(16).toString('base64url')): Nonce => ({
  credentialId: people.ada.enrolled.credential_id,
  nonce,
  signedAt: Math.floor(Date.now() / 1000),
})

test('a nonce accepted by one process is refused by the other, in both directions', async () => {
  const { ada } = people
  const own = nonceFor()
  const elsewhere = await openElsewhere()
  expect((await ada.call({ target: '/api/v1/peers', nonce: own.nonce, time: own.signedAt })).status).toBe(200)
  const theirs = nonceFor()
  expect(await elsewhere([own, theirs])).toBe(1)
  const replayed = await ada.call({ target: '/api/v1/peers', nonce: theirs.nonce, time: theirs.signedAt })
  expect(replayed.json).toMatchObject({ error: 'request_replayed' })
})

test('four processes with the same 250 nonces accept 250 of them in total', async () => {
  const nonces = Array.from({ length: 250 }, () => nonceFor())
  const processes = await Promise.all(Array.from({ length: 4 }, openElsewhere))
  const accepted = await Promise.all(processes.map((spend) => spend(nonces)))
  expect(accepted.reduce((sum, each) => sum + each, 0)).toBe(250)
})
