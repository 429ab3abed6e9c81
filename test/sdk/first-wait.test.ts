/** A node that dies during the first wait of a worker, or of a reader of the audit, which then continue. */
import { afterEach, expect, test } from 'vitest'
import { following } from '../../sdk/resources/owner/following.ts'
import { LocalError } from '../../sdk/transport/failures.ts'
import { bridgeAt } from '../support/bridges.ts'
import { answerJson, type FakeNode, startNode } from '../support/fake-node.ts'

let node: FakeNode | undefined
afterEach(() => node?.close())

const isWait = (target: string) => /wait_seconds=[1-9]/.test(target)

test('a worker continues after the node died while it waited for its first task', async () => {
  const stop = new AbortController()
  let deaths = 0
  node = await startNode(({ url }, _nth, response) => {
    if (!isWait(url)) return answerJson(response, 200, { tasks: [], has_more: false, next_after: null })
    deaths += 1
    // The client sends a request up to 4 times, so the first wait fails as a whole.
    if (deaths > 4) stop.abort()
    response.socket?.destroy()
  })
  const handler = () => Promise.reject(new Error('there is no task'))
  expect(await bridgeAt(node.url).tasks.work(handler, { signal: stop.signal })).toEqual({ claimed: 0 })
})

test('a worker whose node never answered ends with the failure', async () => {
  node = await startNode((_heard, _nth, response) => void response.socket?.destroy())
  const working = bridgeAt(node.url).tasks.work(() => Promise.reject(new Error('there is no task')))
  await expect(working).rejects.toMatchObject({ code: 'unreachable' })
})

test('a reader of the audit continues after the node died during its first wait', async () => {
  let waits = 0
  const records = following({ after: 'a' }, async ({ after, waitSeconds }) => {
    if (waitSeconds === 0) return { events: [], next_after: after ?? null }
    waits += 1
    if (waits === 1) throw new LocalError('unreachable', 'the node died')
    return { events: ['b'], next_after: 'b' }
  })
  expect(await records.next()).toEqual({ done: false, value: 'b' })
  await records.return()
})
