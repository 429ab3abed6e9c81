/** The end of a request's wait. */
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import type { Context } from '../../../server/context.ts'
import { openNoticeWait } from '../../../server/delivery/notice-wait.ts'

const context = {
  stopping: new AbortController().signal,
  wakeups: { subscribe: () => () => {} },
  streams: { add: () => () => {} },
} as unknown as Context

const bellOf = (socket: Socket) =>
  openNoticeWait(context, 'ada', { raw: { socket } } as unknown as FastifyRequest)

test('a wait ends when its client disconnects, also if it disconnected before the wait began', async () => {
  const socket = new Socket()
  const bell = bellOf(socket)
  expect(bell.hasEnded()).toBe(false)
  const closed = once(socket, 'close')
  socket.destroy()
  await closed
  expect(bell.hasEnded()).toBe(true)
  expect(bellOf(socket).hasEnded()).toBe(true)
})
