/**
 * A client that closes its sending side still gets the answers to its requests. An open wait is answered
 * immediately with its current result, because a killed client closes its sending side in the same way.
 *
 * Contract §6; RFC 9112 §9.6.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { act } from '../../support/files.ts'
import { RawConnection, requestText, signedText } from '../../support/raw-client.ts'
import { partBytes, storeZeros } from '../../support/sparse-package.ts'
import { untilListening } from '../../support/waits.ts'
import { lookUp } from '../delivery/listeners.ts'
import { type Listeners, startListeners } from './listeners.ts'

let listeners: Listeners

beforeAll(async () => {
  listeners = await startListeners()
})
afterAll(() => listeners.close())

const open = (target: string) => requestText({ target, headers: [['Connection', 'keep-alive']] })

describe.each(['http', 'https'] as const)('over %s', (listener) => {
  let bridge: TestBridge
  let names = 0

  beforeAll(() => {
    bridge = listeners[listener]
  })

  const fresh = () => {
    names += 1
    return bridge.agent(`half ${names}`)
  }

  test('the node answers all pipelined requests and then closes the connection', async () => {
    const connection = new RawConnection(bridge.url)
      .send(open('/api/health') + open('/api/ready'))
      .halfClose()
    const replies = await connection.replies(2)
    expect(replies.map(({ status }) => status)).toEqual([200, 200])
    await connection.closed
  })

  test('the node stores a message and answers its sender', async () => {
    const [ada, ben] = [await fresh(), await fresh()]
    const conversation_id = await ada.conversationWith(ben.id)
    const body = { conversation_id, recipient_agent_id: ben.id, type: 'note', body: 'and goodbye' }
    const connection = new RawConnection(bridge.url)
      .send(signedText(ada, { target: '/api/v1/messages', body }, 'keep-alive'))
      .halfClose()
    expect((await connection.replies(1)).map(({ status }) => status)).toEqual([200])
    await connection.closed
    expect((await ben.inbox()).messages.map((message) => message.body)).toEqual(['and goodbye'])
  })

  test('the node refuses a body that is cut short', async () => {
    const { ada } = bridge
    const text = signedText(ada, { target: '/api/v1/messages', body: { type: 'note' } }, 'keep-alive')
    const connection = new RawConnection(bridge.url).send(text.slice(0, -1)).halfClose()
    await connection.closed
    expect(connection.text).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('the node sends a download completely', async () => {
    const [ada, ben] = [await fresh(), await fresh()]
    await ada.conversationWith(ben.id)
    const { id } = await storeZeros(bridge, { from: ada, to: ben })
    await act(ben, id, 'accept')
    const target = `/api/v1/transfers/${id}/package/parts/0`
    const connection = new RawConnection(bridge.url)
      .send(signedText(ben, { target }, 'keep-alive'))
      .halfClose()
    await connection.closed
    expect(connection.text.length - connection.text.indexOf('\r\n\r\n') - 4).toBe(partBytes)
  })

  const waits = '/api/v1/inbox?wait_seconds=20'
  /**
   * Waits until the session has a free slot: a third wait of the session would be refused while the earlier
   * ones are open.
   */
  const untilFree = async (agent: TestAgent) => {
    const places = () =>
      Promise.all([1, 2].map(() => agent.call({ target: '/api/v1/tasks?wait_seconds=1&state=failed' })))
    await expect.poll(async () => (await places()).map(({ status }) => status)).toEqual([200, 200])
  }

  // A session may have one wait for the list of its inbox, and two of every other kind.
  test.each([
    [waits, 2],
    ['/api/v1/inbox/messages?wait_seconds=20', 1],
    ['/api/v1/tasks?wait_seconds=20', 2],
  ])('a wait at %s is answered immediately with the current result', async (target, count) => {
    const agent = await fresh()
    const connections = Array.from({ length: count }, () =>
      new RawConnection(bridge.url).send(signedText(agent, { target }, 'keep-alive')),
    )
    if (target === waits) await untilListening(bridge, agent)
    const began = performance.now()
    for (const connection of connections) connection.halfClose()
    const replies = (await Promise.all(connections.map((connection) => connection.replies(1)))).flat()
    expect(replies.map(({ status }) => status)).toEqual(connections.map(() => 200))
    expect(replies.map(({ body }) => JSON.parse(body) as object)).toMatchObject(
      connections.map(() => (target.includes('tasks') ? { tasks: [] } : { messages: [] })),
    )
    await Promise.all(connections.map((connection) => connection.closed))
    expect(performance.now() - began).toBeLessThan(10_000)
    await untilFree(agent)
  })

  test('a long-poll whose client closes its sending side immediately still gets its mail', async () => {
    const [ada, ben] = [await fresh(), await fresh()]
    await ada.send(await ada.conversationWith(ben.id), ben.id, 'here')
    const connection = new RawConnection(bridge.url)
      .send(signedText(ben, { target: waits }, 'keep-alive'))
      .halfClose()
    const [reply] = await connection.replies(1)
    expect(JSON.parse(reply?.body ?? '')).toMatchObject({ messages: [{ body: 'here' }] })
    await connection.closed
  })

  test('an event stream ends immediately, and a message sent afterwards does not count as offered', async () => {
    const [ada, ben] = [await fresh(), await fresh()]
    const conversation = await ada.conversationWith(ben.id)
    const connection = new RawConnection(bridge.url).send(
      signedText(ben, { target: '/api/v1/events' }, 'keep-alive'),
    )
    await connection.until('retry: 250')
    connection.halfClose()
    await connection.closed
    await untilFree(ben)
    const { id } = await ada.send(conversation, ben.id, 'too late')
    expect(lookUp(bridge, 'SELECT offers FROM messages WHERE id = ?', id)).toBe(0)
  })

  test("the owner's live view is answered immediately with the current records", async () => {
    const { owner, project } = bridge
    const target = `/api/admin/projects/${project.id}/events`
    const { next_after } = await owner.ok<{ next_after: string }>({ target })
    const headers = [['Cookie', owner.cookie] as const]
    const text = requestText({
      target: `${target}?after=${next_after}&kind=project.deleted&wait_seconds=20`,
      headers,
    })
    const connection = new RawConnection(bridge.url).send(text)
    await owner.ok({ target: '/api/admin/session' })
    const began = performance.now()
    connection.halfClose()
    const [reply] = await connection.replies(1)
    expect(JSON.parse(reply?.body ?? '')).toMatchObject({ events: [] })
    await connection.closed
    expect(performance.now() - began).toBeLessThan(10_000)
  })
})
