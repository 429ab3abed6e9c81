/** Hints for a terminal become hints for a model that calls tools. */
import { expect, test } from 'vitest'
import { asTool } from '../../../cli/mcp/tool-words.ts'

test.each([
  ['bridge inbox shows it', 'the tool inbox shows it'],
  ['agent-bridge inbox shows it', 'the tool inbox shows it'],
  ['agent-bridge task show <task_id>', 'the tool task with action show "task_id"'],
  ['to resume: agent-bridge transfer receive 7 --to /tmp', 'repeat the call to resume'],
  ['agent-bridge send --key <key>', 'the tool send "idempotency_key" "key"'],
])('%s', (hint, words) => {
  expect(asTool(hint)).toBe(words)
})

test('a hint with a command that no tool replaces keeps its options', () => {
  for (const hint of ['bridge enroll --url <url>', 'agent-bridge hooks install --no-mcp'])
    expect(asTool(hint)).toContain(hint.split(' <')[0])
})
