/**
 * The cost of a message does not grow with the stored rows: every statement on its path searches an index.
 * Contract §7.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { sqliteOnly } from '../../support/one-store.ts'
import { explain, growing, statementsDuring } from '../../support/statements.ts'

sqliteOnly('test/server/postgres/plans.test.ts')

let bridge: TestBridge
let conversation: string

beforeAll(async () => {
  bridge = await startBridge()
  conversation = await bridge.ada.conversationWith(bridge.ben.id)
})
afterAll(() => bridge.close())

test('sending, reading and acknowledging a message scans no table', async () => {
  const { ada, ben } = bridge
  const texts = await statementsDuring(async () => {
    const { id } = await ada.send(conversation, ben.id, 'the build is green')
    await ben.inbox()
    await ben.acknowledge(id)
  })
  expect(texts.length).toBeGreaterThan(12)
  expect(growing(explain(bridge.data, texts))).toEqual([])
})

test('a guard that trips again finds its record by an index', async () => {
  const { ada, ben } = bridge
  const pair = await ben.conversationWith(ada.id)
  const refused = () => expect(ben.send(pair, ada.id, 'too often')).rejects.toThrow('conversation_budget')
  const texts = await statementsDuring(async () => {
    for (let sent = 0; sent < limits.messageBudget; sent += 1) await ben.send(pair, ada.id, 'and again')
    await refused()
    await refused()
  })
  const found = texts.filter((text) => /select .*from "audit"/.test(text))
  expect(found).toHaveLength(1)
  for (const { steps } of explain(bridge.data, found)) {
    expect(steps.join(' ')).toContain('audit_by_subject (subject_id=? AND rowid>?)')
    expect(steps.join(' ')).not.toMatch(/SCAN|TEMP B-TREE/)
  }
  bridge.clock.advance(limits.messageBudgetWindowSeconds)
})

test('the guard of a conversation reads one number, and counts by sequence numbers if necessary', async () => {
  const { ada, ben } = bridge
  const pair = await ben.conversationWith(ada.id)
  const sending = statementsDuring(async () => {
    for (let sent = 0; sent < limits.messageBudget; sent += 1) await ben.send(pair, ada.id, 'and again')
    await expect(ben.send(pair, ada.id, 'once too often')).rejects.toThrow('conversation_budget')
    await ada.send(pair, ben.id, 'the other one still may')
  })
  const guard = (await sending).filter((text) => /"sequence" >/.test(text))
  expect(guard).toHaveLength(2)
  for (const { steps } of explain(bridge.data, guard))
    expect(steps.join(' ')).toMatch(/INDEX sqlite_autoindex_messages_2 \(conversation_id=. AND sequence>.\)/)
})
