/** Each query on the store finds the rows that violate its rule. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { checkStore, invariants } from '../support/invariants.ts'
import { onSqlite } from '../support/one-store.ts'
import { isOnPostgres } from '../support/postgres.ts'
import { withStoreCopy } from '../support/store-copy.ts'
import { act, createTask } from '../support/tasks.ts'
import type { TestStore } from '../support/test-store.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  for (const text of ['one', 'two', 'three']) await ada.send(conversation, ben.id, text)
  const { messages } = await ben.inbox('?limit=1')
  await ben.ok({ target: '/api/v1/acknowledgements', body: { message_ids: [messages[0]?.id] }, key: null })
  await act(ben, (await createTask(ada, ben)).id, 'claim')
  await ben.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  await ben.startSession()
  await bridge.server.stop()
})
afterAll(() => bridge.close())

test('an empty store is valid', () => {
  expect(withStoreCopy(bridge.data, checkStore)).toEqual([])
})

const breaches: Record<string, string> = {
  'the sequences of a conversation are the ones after what was removed, up to its counter':
    "DELETE FROM messages WHERE body = 'two'",
  'within a conversation ids increase with sequences':
    "UPDATE messages SET id = '00000000-0000-7000-8000-000000000000' WHERE body = 'three'",
  'an inbox counts its unacknowledged messages': 'UPDATE inboxes SET waiting = waiting + 1',
  'an agent has at most one active session': `DROP INDEX sessions_one_active;
    UPDATE sessions SET state = 'active', ended_at = NULL`,
  'the generations of an agent are 1, 2, 3 … up to its counter, except for the jump of each restore':
    'UPDATE agents SET session_generation = session_generation + 1',
  'only the newest session of an agent is active, and an ended one has its end time':
    "UPDATE sessions SET ended_at = started_at WHERE state = 'active'",
  'each message sent has one audit record': "DELETE FROM audit WHERE kind = 'message.sent'",
  'each audit record of a message names a stored one': "DELETE FROM messages WHERE body = 'two'",
  'each session started has one audit record': "DELETE FROM audit WHERE kind = 'session.started'",
  'each acknowledged message is in one audit record': "DELETE FROM audit WHERE kind = 'message.acknowledged'",
  'each stored answer to a send names a stored message': `UPDATE idempotency
    SET answer = json_set(answer, '$.message.sequence', 9) WHERE route = '/api/v1/messages'`,
  'each message of an agent is in exactly one stored answer':
    "DELETE FROM idempotency WHERE route = '/api/v1/messages'",
  'a task has the one message of its creation, and each such message its task':
    'UPDATE messages SET task_id = NULL WHERE task_id IS NOT NULL',
  'a task has as many claims as attempts and generations, and each is in the audit':
    "DELETE FROM audit WHERE kind = 'task.claimed'",
  'a task is held exactly in the held states, and has an outcome exactly in the states with one':
    "UPDATE tasks SET outcome_kind = 'failed'",
  'a task is in the lists of ended tasks exactly if it ended, under its state':
    'UPDATE tasks SET ended = CASE WHEN ended IS NULL THEN state END',
  'each acknowledged message was offered': 'UPDATE messages SET offers = 0',
}

const withoutReferences = isOnPostgres
  ? 'SET LOCAL session_replication_role = replica'
  : 'PRAGMA foreign_keys = OFF'

test.each(invariants)('$name: the check detects a store that violates it', ({ name }) => {
  const spoil = (store: TestStore) => {
    store.exec(withoutReferences)
    store.exec(breaches[name] ?? '')
    return checkStore(store)
  }
  expect(withStoreCopy(bridge.data, spoil).filter((sentence) => sentence.startsWith(`${name}:`))).not.toEqual(
    [],
  )
})

const { test: sqliteTest } = onSqlite('test/server/postgres/schema.test.ts')
sqliteTest('the check detects a row that refers to a missing one', () => {
  const wrong = withStoreCopy(bridge.data, (store) => {
    store.exec(withoutReferences)
    store.exec('DELETE FROM credentials')
    return checkStore(store)
  })
  expect(wrong.filter((sentence) => sentence.startsWith('foreign key:'))).not.toEqual([])
})
