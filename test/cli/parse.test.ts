/** Parsing of an agent's commands, without a node. */
import { expect, test, vi } from 'vitest'
import type { Command } from '../../cli/command.ts'
import { ackCommand } from '../../cli/commands/ack.ts'
import { askCommand } from '../../cli/commands/ask.ts'
import { enrollCommand } from '../../cli/commands/enroll.ts'
import { historyCommand } from '../../cli/commands/history.ts'
import { inboxCommand } from '../../cli/commands/inbox.ts'
import { listenCommand } from '../../cli/commands/listen.ts'
import { outboxDropCommand } from '../../cli/commands/outbox/drop.ts'
import { outboxFlushCommand } from '../../cli/commands/outbox/flush.ts'
import { replyCommand } from '../../cli/commands/reply.ts'
import { sendCommand } from '../../cli/commands/send.ts'
import { sessionStartCommand } from '../../cli/commands/session/session.ts'
import { statusCommand } from '../../cli/commands/status.ts'
import type { CliContext } from '../../cli/context.ts'
import { messageFields } from '../../cli/messages/sending.ts'
import { framed } from './frame.ts'

const id = '01a1fc00-0f7d-7002-a6f0-578f3fab7dfe'
const other = '01a1fc00-0f7d-7002-a6f0-578f3fab7dff'
const { context } = framed()

type Make = (context: CliContext, run: () => Promise<void>) => Command

/** Returns the arguments that `run` is called with, without the context. */
async function parsed(make: Make, argv: readonly string[]): Promise<unknown[]> {
  const run = vi.fn<(...args: unknown[]) => Promise<void>>(async () => {})
  const command = make(context, run).configureOutput({ writeErr: () => {}, outputError: () => {} })
  await command.parseAsync([...argv], { from: 'user' })
  expect(run.mock.calls[0]?.[0]).toBe(context)
  return run.mock.calls[0]?.slice(1) ?? []
}

test.each<[string, Make, string[], unknown[]]>([
  ['send', sendCommand, ['ben', 'hi'], ['ben', 'hi', { type: 'note' }]],
  ['send from standard input', sendCommand, ['ben'], ['ben', undefined, { type: 'note' }]],
  ['send with a dash', sendCommand, ['ben', '-'], ['ben', '-', { type: 'note' }]],
  [
    'send of a text that begins with a dash',
    sendCommand,
    ['ben', '--', '-v'],
    ['ben', '-v', { type: 'note' }],
  ],
  [
    'send with every option',
    sendCommand,
    [
      'owner',
      'done',
      '--type',
      'result',
      '--key',
      'done-0001',
      '--in-reply-to',
      id,
      '--expects-reply-by',
      '30m',
      '--require-listening',
    ],
    [
      'owner',
      'done',
      {
        type: 'result',
        key: 'done-0001',
        inReplyTo: id,
        expectsReplyBy: { seconds: 1800 },
        requireListening: true,
      },
    ],
  ],
  ['reply', replyCommand, [id.toUpperCase(), 'yes'], [id, 'yes', { type: 'answer' }]],
  ['ask', askCommand, ['ben', 'why?'], ['ben', 'why?', { type: 'question', timeout: 600, ack: 'manual' }]],
  [
    'ask on',
    askCommand,
    ['--resume', id, '--timeout', '1h', '--ack', 'journal'],
    [undefined, undefined, { type: 'question', timeout: 3600, ack: 'journal', resume: id }],
  ],
  ['ack', ackCommand, [id, other], [[id, other], {}]],
  ['ack', ackCommand, ['--all'], [[], { all: true }]],
  ['listen', listenCommand, [], [{ ack: 'manual' }]],
  [
    'listen with every option',
    listenCommand,
    ['--once', '--timeout', '10m', '--exec', './handle', '--ack', 'journal', '--ensure'],
    [{ once: true, timeout: 600, exec: './handle', ack: 'journal', ensure: true }],
  ],
  ['inbox', inboxCommand, ['--limit', '3'], [{ limit: 3 }]],
  ['history', historyCommand, ['ben', '--after', '0'], ['ben', { after: 0, limit: 20 }]],
  ['status of all', statusCommand, [], [undefined]],
  ['status of one', statusCommand, [id], [id]],
  ['session start', sessionStartCommand, ['--takeover-grant-stdin'], [{ takeoverGrantStdin: true }]],
  ['outbox flush', outboxFlushCommand, [], [[]]],
  ['outbox drop', outboxDropCommand, ['a', 'b'], [['a', 'b']]],
  [
    'enroll',
    enrollCommand,
    ['--url', 'https://b.example', '--replace', '--device', '--allow-plain-http'],
    [{ url: 'https://b.example', replace: true, device: true, allowPlainHttp: true }],
  ],
])('the program parses %s', async (_what, make, argv, expected) => {
  expect(await parsed(make, argv)).toEqual(expected)
})

test.each<[Make, string[]]>([
  [sendCommand, []],
  [sendCommand, ['ben', 'a', 'b']],
  [sendCommand, ['ben', 'a', '--type', 'system']],
  [sendCommand, ['ben', 'a', '--expects-reply-by', 'tomorrow']],
  [sendCommand, ['ben', 'a', '--expects-reply-by', '2026-01-01T00:00:00']],
  [sendCommand, ['ben', 'a', '--in-reply-to', 'that']],
  [replyCommand, ['ben']],
  [ackCommand, []],
  [ackCommand, [id, 'x']],
  [listenCommand, ['--timeout', '-1']],
  [listenCommand, ['--ack', 'always']],
  [listenCommand, ['now']],
  [historyCommand, ['ben', '--after', '1.5']],
  [outboxDropCommand, []],
  [enrollCommand, ['--url']],
  [enrollCommand, ['--url', 'https://b.example', 'the-code']],
])('the program refuses these arguments: %o', async (make, argv) => {
  await expect(parsed(make, argv)).rejects.toMatchObject({
    name: expect.stringMatching(/UsageError|InvalidArgument/),
  })
})

const noon = new Date('2026-01-01T12:00:00.000Z')
test.each([
  [{ seconds: 90 }, '2026-01-01T12:01:30.000Z'],
  [{ at: '2026-02-01T00:00:00.000Z' }, '2026-02-01T00:00:00.000Z'],
])('a reply deadline of %j is sent as a time', async (expectsReplyBy, at) => {
  const now = async () => noon
  const fields = messageFields({ type: 'note', expectsReplyBy }, now, async (_name, make) => make())
  expect(await fields).toEqual({
    type: 'note',
    expects_reply_by: at,
  })
})

test.each([
  ['2026-01-31T12:00:00+02:00', '2026-01-31T10:00:00.000Z'],
  ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
])('the timestamp %s is parsed in its time zone', async (text, at) => {
  const [, , options] = await parsed(sendCommand, ['ben', 'x', '--expects-reply-by', text])
  expect(options).toMatchObject({ expectsReplyBy: { at } })
})
