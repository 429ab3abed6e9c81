/** The time until a wait at one node has a message that was sent at another. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { enroll, type TestAgent } from '../../../support/agent.ts'
import { agentAt } from '../../../support/nodes.ts'
import type { ServerProcess } from '../../../support/process.ts'
import { openWait } from '../../../support/waits.ts'
import type { Harness } from './harness.ts'

/**
 * A node that believes that notifications arrive looks for new messages every 750 ms, so a lost one costs up to
 * that. The rest is for reading the message.
 */
export const wakeWithinMs = 1000

export type Friends = readonly [ada: TestAgent, ben: TestAgent]

/** Two agents in a project of their own. The sign-in of the owner must be confirmed. */
export async function makeFriends(harness: Harness): Promise<Friends> {
  const [ada, ben] = (await makePeople(harness, ['ada', 'ben'])).people
  return [ada, ben] as Friends
}

/** Agents in a project of their own. The sign-in of the owner must be confirmed. */
export async function makePeople(
  { owner, url }: Harness,
  names: readonly string[],
): Promise<{ project: { readonly id: string }; people: TestAgent[] }> {
  const project = await owner.createProject('friends', { policy: { message_budget: 1_000_000 } })
  const people: TestAgent[] = []
  for (const name of names) {
    const { id } = await owner.createAgent(project.id, name)
    const agent = await enroll(url, await owner.enrollmentCode(project.id, id), () => new Date())
    await agent.startSession()
    people.push(agent)
  }
  return { project, people }
}

/** Milliseconds from the answer to a send at the node `from` until a wait at the node `to` has the message. */
export async function wakeMs(harness: Harness, from: number, to: number, [ada, ben]: Friends) {
  const [sender, reader] = [harness.nodes[from], harness.nodes[to]] as [ServerProcess, ServerProcess]
  const there = agentAt(reader, ben)
  const here = agentAt(sender, ada)
  const conversation = await here.conversationWith(ben.id)
  const wait = openWait(there)
  await sleep(200)
  const { id } = await here.send(conversation, ben.id, 'wake')
  const sentMs = performance.now()
  expect((await wait.answer)?.body.messages?.map((each) => each.id)).toEqual([id])
  const tookMs = performance.now() - sentMs
  await there.acknowledge(id)
  return tookMs
}
