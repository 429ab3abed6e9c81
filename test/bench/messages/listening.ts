/** Listeners of each transport, as cheap as possible. Product and floor use the same ones. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { WebSocket } from 'ws'
import type { TestAgent } from '../../support/agent.ts'
import { authenticate } from '../../support/streams.ts'
import { Connection, requestBytes } from './connection.ts'

export interface Received {
  readonly id: string
  readonly body: string
}

/** Resolves when the server holds the wait; the returned function ends it. */
export type Listen = (
  port: number,
  agent: TestAgent,
  received: (message: Received) => void,
) => Promise<() => void>

const messagesOf = (text: string): readonly Received[] =>
  (JSON.parse(text) as { messages?: readonly Received[] }).messages ?? []

const overSocket: Listen = async (port, agent, received) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/socket`, { perMessageDeflate: false })
  await once(socket, 'open')
  socket.send(JSON.stringify(authenticate(agent)))
  await once(socket, 'message')
  socket.on('message', (bytes: Buffer) => {
    for (const message of messagesOf(bytes.toString())) received(message)
  })
  return () => socket.terminate()
}

const overEvents: Listen = async (port, agent, received) => {
  const target = '/api/v1/events'
  const headers = Object.fromEntries(agent.sign({ method: 'GET', target }, ''))
  const call = request({ host: '127.0.0.1', port, path: target, headers, agent: false }).end()
  call.on('error', () => {})
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`an event stream answered ${answer.statusCode}`)
  let text = ''
  answer.setEncoding('utf8').on('error', () => {})
  answer.on('data', (chunk: string) => {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = text.slice(0, end).split('\ndata: ')[1]
      text = text.slice(end + 2)
      for (const message of data === undefined ? [] : messagesOf(data)) received(message)
    }
  })
  return () => call.destroy()
}

const overPolls: Listen = async (port, agent, received) => {
  const connection = await Connection.open(port)
  let isOver = false
  const poll = async () => {
    while (!isOver) {
      const answer = await connection.ask(requestBytes(agent, { target: '/api/v1/inbox?wait_seconds=20' }))
      for (const message of messagesOf(answer)) received(message)
    }
  }
  const polling = poll().catch((error: unknown) => {
    if (!isOver) throw error
  })
  void polling
  return () => {
    isOver = true
    connection.close()
  }
}

export const transports: readonly (readonly [name: string, listen: Listen])[] = [
  ['socket', overSocket],
  ['SSE', overEvents],
  ['long-poll', overPolls],
]
