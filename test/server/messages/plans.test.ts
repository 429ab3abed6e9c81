/** What a message costs does not grow with what is stored: every statement of its way searches an index. Contract §7. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Statements } from '../../../server/database/connection.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { tamper } from '../maintenance/upkeep.ts'

let bridge: TestBridge
const asked = new Set<string>()

beforeAll(async () => {
  bridge = await startBridge()
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  const get = vi.spyOn(Statements.prototype, 'get')
  const { id } = await ada.send(conversation, ben.id, 'the build is green')
  await ben.inbox()
  await ben.acknowledge(id)
  for (const [text] of get.mock.calls) asked.add(text)
  get.mockRestore()
})
afterAll(() => bridge.close())

const stepsOf = (text: string): string[] =>
  tamper(bridge.data, (database) =>
    database
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
      .all(...(text.match(/\?/g) ?? []).map(() => 'x'))
      .map(({ detail }) => detail),
  )

test('sent, read and acknowledged without reading through anything', () => {
  expect(asked.size).toBeGreaterThan(12)
  const whole = [...asked].filter((text) => stepsOf(text).some((step) => /^SCAN|TEMP B-TREE/.test(step)))
  expect(whole).toEqual([])
})

test('the guard of a conversation counts by the index that ends at its window', () => {
  const guard = [...asked].filter((text) => /"sender_kind" =/.test(text))
  expect(guard).toHaveLength(1)
  expect(stepsOf(guard[0] ?? '').join(' ')).toMatch(/INDEX messages_budget \(.*created_at>/)
})
