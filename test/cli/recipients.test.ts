/** The messages that a command prints beside another process of its profile, and their acknowledgement. */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type AskOptions, ask } from '../../cli/commands/ask.ts'
import { type ReplyOptions, reply } from '../../cli/commands/reply.ts'
import type { Agent } from '../../cli/context.ts'
import { printMessages } from '../../cli/messages/on-message.ts'
import { profilePaths } from '../../cli/profile/profile.ts'
import { Journal, type OfferedMessage } from '../../sdk/program.ts'
import { bridgeAt, message, record } from '../support/bridges.ts'
import { answerJson, refuse, startNode } from '../support/fake-node.ts'
import { framed } from './frame.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bridge-recipients-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('listen does not print a message that ask showed, and prints the others', async () => {
  const { context, written } = framed()
  const paths = profilePaths(folder, 'ada')
  const options = { path: paths.journal, clock: context.clock }
  const journal = await Journal.open(options)
  const baseUrl = 'http://127.0.0.1:1'
  const profile = { base_url: baseUrl, identity: record } as Agent['profile']
  const agent: Agent = { bridge: bridgeAt(baseUrl), profile, paths }
  const show = printMessages({ context, agent, journal, options: { ack: 'manual' } })
  const [answer, note] = [message(1), message(2)] as unknown as [OfferedMessage, OfferedMessage]

  const asking = await Journal.open({ ...options, rotates: false })
  await asking.record([answer])
  await asking.recordPrinted([answer.id])
  await asking.close()
  expect(await show([answer])).toBe(false)
  expect(written.stdout).toBe('')
  expect(await show([answer, note])).toBe(true)
  expect(written.stdout).toContain('| number 2')
  expect(written.stdout).not.toContain('| number 1')
  await journal.close()
  await agent.bridge.close()
  expect((await readFile(paths.journal, 'utf8')).trimEnd().split('\n')).toHaveLength(4)
})

test('an answer that ask shows while listen records it is not printed again', async () => {
  const { context, written } = framed()
  const paths = profilePaths(folder, 'ada')
  const options = { path: paths.journal, clock: context.clock }
  const journal = await Journal.open(options)
  const baseUrl = 'http://127.0.0.1:1'
  const profile = { base_url: baseUrl, identity: record } as Agent['profile']
  const agent: Agent = { bridge: bridgeAt(baseUrl), profile, paths }
  const show = printMessages({ context, agent, journal, options: { ack: 'manual' } })
  const answer = message(1) as unknown as OfferedMessage
  const asking = await Journal.open({ ...options, rotates: false })
  const write = journal.record.bind(journal)
  vi.spyOn(journal, 'record').mockImplementation(async (messages) => {
    await write(messages)
    await asking.recordPrinted([answer.id])
  })
  expect(await show([answer])).toBe(false)
  expect(written.stdout).toBe('')
  await asking.close()
  await journal.close()
  await agent.bridge.close()
})

test('listen goes on when the node refuses an acknowledgement for now, and repeats it at the redelivery', async () => {
  let isBusy = true
  const node = await startNode(({ body }, _nth, response) => {
    const { message_ids: acknowledged } = JSON.parse(body) as { message_ids: string[] }
    if (isBusy) refuse(response, 429, 'rate_limited', { retry_after_ms: 1 })
    else answerJson(response, 200, { acknowledged, already: [] })
  })
  onTestFinished(() => node.close())
  const { context, written } = framed()
  const paths = profilePaths(folder, 'ada')
  const journal = await Journal.open({ path: paths.journal, clock: context.clock })
  const profile = { base_url: node.url, identity: record } as Agent['profile']
  const agent: Agent = { bridge: bridgeAt(node.url), profile, paths }
  const show = printMessages({ context, agent, journal, options: { ack: 'journal' } })
  const [one, two] = [message(1), message(2)] as unknown as [OfferedMessage, OfferedMessage]
  expect(await show([one])).toBe(true)
  expect(await show([two])).toBe(true)
  expect(written.stdout).toContain('| number 2')
  expect(written.stderr).toContain('an acknowledgement is repeated later: ')
  isBusy = false
  node.heard.length = 0
  expect(await show([one, two])).toBe(false)
  expect(node.heard.map(({ body }) => JSON.parse(body))).toEqual([{ message_ids: [one.id, two.id] }])
  await journal.close()
  await agent.bridge.close()
})

test('ask succeeds with the answer when the node refuses its acknowledgement for now', async () => {
  const node = await startNode((_heard, _nth, response) =>
    refuse(response, 429, 'rate_limited', { retry_after_ms: 1 }),
  )
  onTestFinished(() => node.close())
  const { context, written } = framed()
  const bridge = bridgeAt(node.url)
  onTestFinished(() => bridge.close())
  const [question, answer] = [message(1), message(2)] as unknown as [OfferedMessage, OfferedMessage]
  vi.spyOn(bridge.messages, 'get').mockResolvedValue(question)
  vi.spyOn(bridge, 'answerTo').mockResolvedValue(answer)
  const profile = { base_url: node.url, identity: record } as Agent['profile']
  const agent: Agent = { bridge, profile, paths: profilePaths(folder, 'ada') }
  const options = { timeout: 10, resume: question.id, ack: 'journal' } as AskOptions
  await ask({ ...context, agent: async () => agent }, undefined, undefined, options)
  expect(written.stdout).toContain('| number 2')
  expect(written.stderr).toContain(`the answer is not acknowledged, which bridge ack ${answer.id} does: `)
  expect(node.heard.map(({ url }) => url)).toContain('/api/v1/acknowledgements')
})

test.each([
  ['for now', 429, 'rate_limited', undefined],
  ['for good', 404, 'not_found', 'not_found'],
] as const)('reply --ack prints its reply when the node refuses %s', async (_when, status, code, failure) => {
  const node = await startNode((_heard, _nth, response) =>
    refuse(response, status, code, { retry_after_ms: 1 }),
  )
  onTestFinished(() => node.close())
  const { context, written } = framed()
  const bridge = bridgeAt(node.url)
  onTestFinished(() => bridge.close())
  const [question, answer] = [message(1), message(2)] as unknown as [OfferedMessage, OfferedMessage]
  const sent = { message: answer, recipient: { connection: { listening_now: true } } }
  vi.spyOn(bridge.messages, 'reply').mockResolvedValue(sent as never)
  vi.spyOn(bridge, 'now').mockResolvedValue(context.clock())
  const profile = { base_url: node.url, identity: record } as Agent['profile']
  const agent: Agent = { bridge, profile, paths: profilePaths(folder, 'ada') }
  const own = { ...context, agent: async () => agent, bridge: async () => bridge }
  const run = reply(own, question.id, 'yes', { type: 'answer', ack: true } as ReplyOptions)
  if (failure === undefined) await run
  else await expect(run).rejects.toMatchObject({ code: failure })
  expect(written.stdout).toContain(answer.id)
  expect(written.stderr.includes(`which bridge ack ${question.id} does: `)).toBe(failure === undefined)
  expect(written.stderr).not.toContain(`acknowledged ${question.id}\n`)
})
