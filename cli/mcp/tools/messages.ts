/** Tools for messages: read them, send, reply and acknowledge. */

import { ack as acknowledge } from '../../commands/ack.ts'
import { readHistory } from '../../commands/history.ts'
import { reply as sendReply } from '../../commands/reply.ts'
import { send as sendMessage } from '../../commands/send.ts'
import { status } from '../../commands/status.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { failureReport } from '../../failures/failure-report.ts'
import { noteRead } from '../../hooks/read-mark.ts'
import { messageText } from '../../messages/message-text.ts'
import { readerOf } from '../../messages/opened-bodies.ts'
import { idempotencyKey, replyBy } from '../../messages/sending.ts'
import { deliveryWords } from '../../terminal/words.ts'
import { given } from './arguments.ts'
import { fitting } from './result.ts'
import { line, tool } from './tool.ts'

const id = { type: 'string', idOf: { name: 'message_id' } } as const
const received = { name: 'message_id', ofOthers: true } as const
const agent = { type: 'string', idOf: { name: 'agent', orName: true } } as const
const text = { type: 'string' } as const
const types = ['question', 'answer', 'note', 'result', 'status'] as const

/** Arguments that `send` and `reply` share. */
const sending = {
  text,
  type: { type: 'string', enum: types },
  reply_by: { type: 'string', description: '30m or timestamp' },
  encrypt: { type: 'boolean' },
  idempotency_key: text,
} as const

interface Sending {
  readonly type?: (typeof types)[number]
  readonly reply_by?: string
  readonly encrypt?: boolean
  readonly idempotency_key?: string
}

const optionsOf = (
  { type, reply_by: by, encrypt, idempotency_key: key }: Sending,
  usual: (typeof types)[number],
) => ({
  type: type ?? usual,
  ...given({
    key: key === undefined ? undefined : idempotencyKey(key),
    expectsReplyBy: by === undefined ? undefined : replyBy(by),
    encrypt: encrypt === true ? (true as const) : undefined,
  }),
})

export const inbox = tool({
  name: 'inbox',
  description: 'Unacknowledged messages, oldest first. Reading acknowledges none.',
  properties: {
    limit: { type: 'integer', from: 1, to: 50 },
    after: { ...id, description: 'id of the last one shown' },
    open: { type: 'boolean', description: 'unanswered questions instead' },
  },
  effect: 'reads',
  run: async (context, { limit = 10, after, open }) => {
    if (open === true) return status(context, undefined)
    const agent = await context.agent()
    const page = await agent.bridge.inbox.list({ ...given({ after }), limit, signal: context.signal })
    const { messages, waiting } = page
    noteRead(context)
    const { text: shown, count } = fitting(messages, await readerOf(agent, messages))
    if (count === 0) return context.output.note(nothingWords(after, waiting))
    context.output.result(page, shown)
    const more = page.has_more || count < messages.length
    const next = more ? `; inbox with "after": "${messages[count - 1]?.id}" shows the next` : ''
    context.output.note(`\n[${waiting} unacknowledged, ${count} shown${next}]`)
  },
})

const nothingWords = (after: string | undefined, waiting: number): string =>
  after === undefined || waiting === 0
    ? `no unacknowledged messages${waiting === 0 ? '' : ` to show, ${waiting} withheld for now`}`
    : `no later message; ${waiting} unacknowledged in all`

export const send = tool({
  name: 'send',
  description: 'Send a message to a peer (name or id) or to "owner".',
  properties: { to: agent, ...sending },
  required: ['to', 'text'],
  run: (context, { to, ...values }) => sendMessage(context, to, undefined, optionsOf(values, 'note')),
})

export const reply = tool({
  name: 'reply',
  description: 'Answer a message in its conversation.',
  properties: {
    message_id: { type: 'string', idOf: received },
    ...sending,
    type: { type: 'string', oneOf: types },
    ack: { type: 'boolean', description: 'acknowledge it too' },
  },
  required: ['message_id', 'text'],
  run: async (context, { message_id: original, ack: isRead, ...values }) => {
    await sendReply(context, original, undefined, optionsOf(values, 'answer'))
    if (isRead === true) await acknowledgeAnswered(context, original)
  },
})

/** The answer is stored by now, so a failure here is no failure of the call: it would be sent twice. */
async function acknowledgeAnswered(context: CliContext, original: string): Promise<void> {
  try {
    await acknowledge(context, [original])
  } catch (error) {
    if (context.signal.aborted) throw error
    const { message = '' } = await failureReport(error, context)
    context.output.note(`the answer is stored, but the acknowledgement failed: ${message}`)
  }
}

export const ack = tool({
  name: 'ack',
  description: 'Acknowledge messages that you handled or recorded.',
  properties: { message_ids: { type: 'array', most: 100, idOf: received } },
  required: ['message_ids'],
  effect: 'repeats',
  run: (context, { message_ids: ids }) => acknowledge(context, ids),
})

export const history = tool({
  name: 'history',
  description: 'Latest messages with a peer or "owner", or one whole message with its delivery.',
  properties: {
    peer: agent,
    after: { type: 'integer', from: 0, to: Number.MAX_SAFE_INTEGER, description: 'message number' },
    limit: { type: 'integer', from: 1, to: 50 },
    message_id: id,
    line,
  },
  effect: 'reads',
  run: async (context, { peer, after, limit = 10, message_id: messageId, line: from }) => {
    if ((peer === undefined) === (messageId === undefined))
      throw new CommandError('usage', 'give either "peer" or "message_id"')
    if (messageId !== undefined) return showMessage(context, messageId)
    if (from !== undefined) throw new CommandError('usage', '"line" needs "message_id"')
    await showHistory(context, peer ?? '', { limit, ...given({ after }) })
  },
})

async function showMessage(context: CliContext, messageId: string): Promise<void> {
  const agent = await context.agent()
  const message = await agent.bridge.messages.get(messageId, { signal: context.signal })
  const reader = await readerOf(agent, [message])
  context.output.result(message, `${messageText(message, reader)}\n\n${deliveryWords(message, reader.now)}`)
}

async function showHistory(
  context: CliContext,
  peer: string,
  options: { readonly limit: number; readonly after?: number },
): Promise<void> {
  const { output } = context
  const agent = await context.agent()
  const page = await readHistory(context, peer, options)
  const { messages } = page
  const { text: shown, count } = fitting(messages, await readerOf(agent, messages))
  if (count === 0) output.note(options.after === undefined ? 'no messages yet' : 'no later messages')
  else output.result(page, shown)
  const gap = page.retention_gap?.removed_through_sequence
  if (gap !== undefined) output.note(`\n[messages through number ${gap} were removed by retention]`)
  if (count < messages.length || page.has_more)
    output.note(`\n[more: the same call with "after": ${messages[count - 1]?.sequence}]`)
}
