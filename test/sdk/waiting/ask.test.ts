/** A question and the wait for its answer, at a real node. Contract §13. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  LocalError,
  type Message,
  NoAnswer,
  newAgeKey,
  openSealedText,
  sealText,
} from '../../../sdk/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf, Ear } from '../../support/sdk-listener.ts'
import { type Asker, askerOf, refusingAcknowledgements, reply, unacknowledged } from './scene.ts'

let node: TestBridge
let ada: TestAgent
let ben: TestAgent
let asker: Asker
let count = 0
const undo: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  node = await startBridge()
})
afterAll(() => node.close())
beforeEach(async () => {
  count += 1
  ada = await node.agent(`ada-${count}`)
  ben = await node.agent(`ben-${count}`)
  await ada.startSession()
  asker = askerOf(ada)
  undo.push(() => asker.bridge.close())
})
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

/** Asks a question; resolves once it is stored, with the question and the promise of its outcome. */
async function asking(
  body = 'Which branch?',
  options: Parameters<Asker['bridge']['ask']>[2] = {},
  to = ben.name,
): Promise<{ question: Message; answer: Promise<Message> }> {
  const asked = Promise.withResolvers<Message>()
  const onAsked = ({ message }: { message: Message }) => asked.resolve(message)
  const answer = asker.bridge.ask(to, body, { timeout: 120_000, onAsked, ...options })
  answer.catch(asked.reject)
  return { question: await asked.promise, answer }
}

const waits = () => expect.poll(() => asker.openLists()).toBe(1)
const codeOf = (promise: Promise<unknown>) => promise.catch((error: { code?: unknown }) => error.code)
const tell = (text: string) => node.owner.message(node.project.id, ada.id, text)

describe('an answer', () => {
  test('arrives by a notification, and no request is sent in the meantime', async () => {
    const { question, answer } = await asking()
    await waits()
    const before = asker.asked.length
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(asker.asked.length).toBe(before)
    const { id } = await reply(ben, question, 'release-2')
    expect(await answer).toMatchObject({
      id,
      body: 'release-2',
      in_reply_to: question.id,
      sender: { name: ben.name },
    })
    expect(asker.asked.slice(before)).toEqual(['POST /api/v1/acknowledgements'])
    expect((await asker.bridge.messages.get(id)).delivery.acknowledged_at).not.toBeNull()
    expect(Date.parse(question.expects_reply_by ?? '')).toBeGreaterThan(node.clock().getTime())
  })

  test('that arrived before the wait is found, acknowledged or not', async () => {
    const { bridge } = asker
    const draft = { type: 'question', body: 'Which branch?' } as const
    const { message: question } = await bridge.messages.sendTo(ben.name, draft)
    await reply(ben, question, 'release-2')
    expect(await bridge.answerTo(question.id)).toMatchObject({ body: 'release-2' })
    expect(await unacknowledged(ada)).toEqual([])
    // A look that takes longer than two seconds on a busy machine finds nothing.
    await expect.poll(() => bridge.answerTo(question, { timeout: 0 })).toMatchObject({ body: 'release-2' })
  })

  test('is a reply of the other side to this question, and not a follow-up or a reply to another one', async () => {
    const { question: other, answer: another } = await asking('Which commit?')
    const { question, answer } = await asking()
    await asker.bridge.messages.reply(question.id, { type: 'note', body: 'It is urgent.' })
    await reply(ben, other, 'the last one')
    await reply(ben, question, 'release-2', { type: 'note' })
    expect(await answer).toMatchObject({ body: 'release-2', type: 'note' })
    expect(await another).toMatchObject({ body: 'the last one' })
  })

  test('of the owner arrives in the same way', async () => {
    const { question, answer } = await asking('May I merge?', {}, 'owner')
    await waits()
    const body = { recipient_agent_id: ada.id, type: 'answer', body: 'Yes.', in_reply_to: question.id }
    const target = `/api/admin/projects/${node.project.id}/messages`
    await node.owner.ok({ target, body, key: `owner-answers-${count}` })
    expect(await answer).toMatchObject({ body: 'Yes.', sender: { kind: 'owner' } })
  })

  test('to a sealed question is sealed, and is opened with the key', async () => {
    const key = await newAgeKey()
    await asker.bridge.recipientKeys.register(key.recipient)
    const { question, answer } = await asking()
    await reply(ben, question, await sealText('release-2', key.recipient), { encoding: 'age' })
    const { body, encoding } = await answer
    expect([encoding, body.includes('release-2')]).toEqual(['age', false])
    expect(await openSealedText(body, key.secret)).toBe('release-2')
  })

  test('is returned although the node refuses its acknowledgement for now', async () => {
    const bridge = bridgeOf(ada, { fetch: refusingAcknowledgements })
    undo.push(() => bridge.close())
    const onAsked = ({ message }: { message: Message }) => void reply(ben, message, 'release-2')
    const answer = await bridge.ask(ben.name, 'Which branch?', { timeout: 120_000, onAsked })
    expect(answer).toMatchObject({ body: 'release-2' })
    expect(await unacknowledged(ada)).toEqual(['release-2'])
  })

  test('that is left unacknowledged stays unacknowledged', async () => {
    const { question, answer } = await asking('Which branch?', { acknowledge: false })
    await reply(ben, question, 'release-2')
    await answer
    expect(await unacknowledged(ada)).toEqual(['release-2'])
  })
})

describe('other mail', () => {
  const notes = Array.from({ length: 50 }, (_, nth) => `note ${nth}`)

  test('stays unacknowledged and unoffered, and arrives in a later listen', async () => {
    const { question, answer } = await asking()
    await waits()
    for (const note of notes.slice(0, 25)) await tell(note)
    await reply(ben, question, 'release-2')
    expect(await answer).toMatchObject({ body: 'release-2' })
    for (const note of notes.slice(25)) await tell(note)
    const ear = new Ear(asker.bridge, { transports: ['long-poll'] })
    undo.push(() => ear.stop())
    await ear.heard('note 49')
    expect(ear.bodies).toEqual(notes)
    expect(ear.messages.map(({ delivery }) => delivery.attempt)).toEqual(notes.map(() => 1))
    expect(await unacknowledged(ada)).toEqual(notes)
  })

  test('arrives in a concurrent listen of the same Bridge, which does not get the answer', async () => {
    const ear = new Ear(asker.bridge)
    undo.push(() => ear.stop())
    await ear.on('socket')
    const { question, answer } = await asking()
    await Promise.all(notes.map(tell))
    await reply(ben, question, 'release-2')
    await tell('the last')
    expect(await answer).toMatchObject({ body: 'release-2' })
    await ear.heard('the last')
    expect(ear.bodies.toSorted()).toEqual([...notes, 'the last'].toSorted())
    expect((await unacknowledged(ada)).length).toBe(51)
  })

  test('is delivered by a listen that asks a question while it handles a message', async () => {
    const heard: string[] = []
    await tell('one')
    const stop = new AbortController()
    undo.push(async () => stop.abort())
    for await (const message of asker.bridge.listen({ signal: stop.signal })) {
      heard.push(message.body)
      if (message.body === 'two') break
      const { question, answer } = await asking()
      await reply(ben, question, 'release-2')
      expect(await answer).toMatchObject({ body: 'release-2' })
      await tell('two')
    }
    expect(heard).toEqual(['one', 'two'])
  })
})

describe('several questions', () => {
  test('to several peers share one wait, beside a listen', async () => {
    const peers = await Promise.all(['cy', 'dee', 'eve', 'fay'].map((name) => node.agent(`${name}-${count}`)))
    await ada.startSession()
    const ear = new Ear(asker.bridge)
    undo.push(() => ear.stop())
    await ear.on('socket')
    const asked = await Promise.all(peers.map((peer) => asking('Ready?', {}, peer.name)))
    await waits()
    await Promise.all(
      peers.map((peer, nth) => reply(peer, asked[nth]?.question as Message, `yes, ${peer.name}`)),
    )
    const answers = await Promise.all(asked.map(({ answer }) => answer))
    expect(answers.map(({ body }) => body)).toEqual(peers.map(({ name }) => `yes, ${name}`))
    expect(ear.messages).toEqual([])
  })

  test('get their answers while others occupy both waits of the session', async () => {
    const ears = [1, 2].map(() => {
      const beside = bridgeOf(ada, { transports: ['socket'] })
      const ear = new Ear(beside)
      undo.push(async () => {
        await ear.stop()
        await beside.close()
      })
      return ear
    })
    for (const ear of ears) await ear.on('socket')
    const { question, answer } = await asking()
    await reply(ben, question, 'release-2')
    expect(await answer).toMatchObject({ body: 'release-2' })
  })

  test('of several processes leave one slot to a listener, and all get their answers', async () => {
    const { question: first, answer } = await asking()
    const beside = askerOf(ada)
    undo.push(() => beside.bridge.close())
    const { message: second } = await beside.bridge.messages.sendTo(ben.name, {
      type: 'question',
      body: 'Ready?',
    })
    const other = beside.bridge.answerTo(second, { timeout: 120_000 })
    await waits()
    const ear = new Ear(asker.bridge)
    undo.push(() => ear.stop())
    await ear.on('socket')
    for (const question of [first, second]) await reply(ben, question, `to ${question.body}`)
    const bodies = (await Promise.all([answer, other])).map(({ body }) => body)
    expect(bodies).toEqual(['to Which branch?', 'to Ready?'])
  })

  test('with one key are one question', async () => {
    const idempotencyKey = `question-${count}`
    const first = await asking('Which branch?', { idempotencyKey })
    const second = await asking('Which branch?', { idempotencyKey, timeout: 120_000 })
    expect(second.question.id).toBe(first.question.id)
    await reply(ben, first.question, 'release-2')
    expect(await first.answer).toEqual(await second.answer)
  })
})

describe('no answer', () => {
  test('in time is an error with the id that resumes the wait', async () => {
    const late = await asker.bridge
      .ask(ben.name, 'Which branch?', { timeout: 50 })
      .catch((error: unknown) => error)
    expect(late).toBeInstanceOf(NoAnswer)
    expect(late).toBeInstanceOf(LocalError)
    const { code, message, questionId } = late as NoAnswer
    expect(code).toBe('no_answer')
    expect(message).toBe(
      `no answer to ${questionId} within 50 ms; the question is stored, and bridge.answerTo('${questionId}') waits on`,
    )
    await reply(ben, await asker.bridge.messages.get(questionId), 'release-2')
    expect(await asker.bridge.answerTo(questionId)).toMatchObject({ body: 'release-2' })
  })

  test('leaves no open wait after an abort or a close', async () => {
    const stop = new AbortController()
    const { question, answer } = await asking('Which branch?', { signal: stop.signal })
    await waits()
    stop.abort()
    const error = await answer.catch((reason: LocalError) => reason)
    expect(error).toMatchObject({
      code: 'aborted',
      message: expect.stringContaining(`answerTo('${question.id}')`),
    })
    await expect.poll(() => asker.openLists()).toBe(0)
    expect(await codeOf(asker.bridge.answerTo(question, { signal: AbortSignal.abort() }))).toBe('aborted')

    const again = asker.bridge.answerTo(question)
    const code = codeOf(again)
    await waits()
    await asker.bridge.close()
    expect(await code).toBe('aborted')
  })

  test("can be awaited for another sender's message or with an invalid timeout", async () => {
    const { bridge } = asker
    const { id } = await tell('hello')
    expect(await codeOf(bridge.answerTo(id))).toBe('not_asked')
    expect(await codeOf(bridge.answerTo('01980000-0000-7000-8000-000000000000'))).toBe('not_found')
    const before = asker.asked.length
    for (const timeout of [-1, Number.NaN])
      await expect(bridge.ask(ben.name, 'Which?', { timeout })).rejects.toThrow(RangeError)
    expect(asker.asked.length).toBe(before)
  })
})

describe('an asker', () => {
  test('gets the list of known peers if the peer is unknown', async () => {
    const refused = await asker.bridge.ask('zoe', 'Which branch?').catch((error: Error) => error)
    expect(refused).toMatchObject({ code: 'peer_unknown', message: expect.stringContaining('zoe') })
    expect((refused as Error).message).toMatch(/there are \w+/)
  })

  test('gets an error immediately when the owner disables the pair, and its next question is refused', async () => {
    const { answer } = await asking()
    const code = codeOf(answer)
    await waits()
    await node.owner.setPairing(node.project.id, [ada.id, ben.id], false)
    expect(await code).toBe('not_found')
    expect(await codeOf(asker.bridge.ask(ben.name, 'And now?'))).toBe('pairing_disabled')
  })

  test('gets session_fenced when a takeover fences its session', async () => {
    const { answer } = await asking()
    const code = codeOf(answer)
    await waits()
    await node.owner.takeover(node.project.id, ada.id)
    expect(await code).toBe('session_fenced')
  })
})
