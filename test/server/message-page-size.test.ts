/**
 * A page ends before the messages in it exceed 1 MiB of JSON; its cursor and `has_more` lead to the rest.
 *
 * Contract §1 "Lists", §6.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'

let bridge: TestBridge
let conversation: string

interface Page {
  readonly messages: readonly { readonly id: string; readonly sequence: number }[]
  readonly has_more: boolean
  readonly next_sequence: number
}

const count = 8
/** Each character takes six bytes in JSON. */
const body = '\u0001'.repeat(40_000)
const mostBytes = 1024 * 1024 + 1024
const all = Array.from({ length: count }, (_, n) => n + 1)

beforeAll(async () => {
  bridge = await startBridge()
  const { owner, project, ben } = bridge
  for (let n = 0; n < count; n += 1) {
    conversation = (await owner.message(project.id, ben.id, body)).conversation_id
  }
})
afterAll(() => bridge.close())

const sequences = ({ messages }: Page) => messages.map(({ sequence }) => sequence)

test('an agent reads the history forward completely, in pages of bounded size', async () => {
  const read: number[] = []
  let after = 0
  for (let more = true; more; ) {
    const target = `/api/v1/conversations/${conversation}/messages?after_sequence=${after}&limit=100`
    const { status, text, json } = await bridge.ben.call({ target })
    expect([status, text.length < mostBytes]).toEqual([200, true])
    const page = json as Page
    expect(page.messages.length).toBeGreaterThan(0)
    read.push(...sequences(page))
    after = page.next_sequence
    more = page.has_more
  }
  expect(read).toEqual(all)
})

test('the owner reads the history backward completely, in pages of bounded size', async () => {
  const read: number[] = []
  let query = ''
  for (let more = true; more; ) {
    const target = `/api/admin/projects/${bridge.project.id}/conversations/${conversation}/messages${query}`
    const { status, text, json } = await bridge.owner.call({ target })
    expect([status, text.length < mostBytes]).toEqual([200, true])
    const page = json as Page
    expect(page.messages.length).toBeGreaterThan(0)
    read.unshift(...sequences(page))
    query = `?before_sequence=${page.next_sequence}`
    more = page.has_more
  }
  expect(read).toEqual(all)
})

test('an agent reads its inbox completely, in pages of bounded size', async () => {
  const read: string[] = []
  for (let more = true; more; ) {
    const { status, text, json } = await bridge.ben.call({ target: '/api/v1/inbox?limit=100' })
    expect([status, text.length < mostBytes]).toEqual([200, true])
    const page = json as Page
    expect(page.messages.length).toBeGreaterThan(0)
    read.push(...page.messages.map(({ id }) => id))
    more = page.has_more
  }
  expect(new Set(read).size).toBe(count)
  expect(read).toHaveLength(count)
})
