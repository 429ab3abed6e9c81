/** `ask` reserves the answer before it calls `onAsked`, because the other side may answer at once. */
import { expect, test } from 'vitest'
import { ask, type Questioning } from '../../../sdk/waiting/questions.ts'

const question = { id: 'q', sequence: 1, sender: { kind: 'agent', agent_id: 'a' }, conversation_id: 'c' }
const answer = { id: 'r', in_reply_to: 'q', delivery: { acknowledged_at: null } }

const askingWith = (hold: Questioning['hold']): Questioning =>
  ({
    agentId: 'a',
    messages: { sendTo: async () => ({ message: question }) },
    watch: { wait: async () => answer },
    nodeClock: { now: async () => new Date(0) },
    hold,
  }) as unknown as Questioning

test('the answer is reserved before the caller hears that the question is stored', async () => {
  const order: string[] = []
  const hold = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    order.push('reserved')
    return async () => void order.push('released')
  }
  await ask(askingWith(hold), 'ben', 'Which?', { onAsked: () => order.push('told') })
  expect(order).toEqual(['reserved', 'told', 'released'])
})

test('the caller hears of the question too if the answer cannot be reserved, or nothing reserves it', async () => {
  const told: string[] = []
  const onAsked = () => void told.push('told')
  const hold = () => Promise.reject(new Error('no space'))
  await expect(ask(askingWith(hold), 'ben', 'Which?', { onAsked })).rejects.toThrow('no space')
  await ask(askingWith(undefined), 'ben', 'Which?', { onAsked })
  expect(told).toEqual(['told', 'told'])
})
