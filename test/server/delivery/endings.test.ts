/**
 * An agent that loses the right to listen: on every transport its open wait ends within two seconds with a
 * reason. Once the owner has been answered, the agent receives no message, stored before or after.
 *
 * Threats T5, T8; contract §6.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { messagesOf, type OpenStream, transports } from '../../support/streams.ts'
import { type Loss, losses } from '../lost-rights.ts'
import { behindItsBack, listen, storeBehindItsBack } from './listeners.ts'

let bridge: TestBridge
let names = 0

beforeAll(async () => {
  // The periodic rechecks of this server run only when a test moves their time.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  bridge = await startBridge()
})
afterAll(async () => {
  await bridge.close()
  vi.useRealTimers()
})

interface Scene {
  readonly project: { id: string; name: string }
  readonly sender: TestAgent
  readonly lost: TestAgent
  readonly conversation: string
}

/** A separate project with a sender and the agent that will lose its right. */
async function scene(): Promise<Scene> {
  names += 1
  const project = await bridge.owner.createProject(`project ${names}`, { policy: { message_budget: 10_000 } })
  const sender = await bridge.agent('sender', project.id)
  const lost = await bridge.agent('lost', project.id)
  return { project, sender, lost, conversation: await sender.conversationWith(lost.id) }
}

/** Sends messages without pause until stopped or refused. */
function talk({ sender, lost, conversation }: Scene) {
  let talking = true
  const body = { conversation_id: conversation, recipient_agent_id: lost.id, type: 'note', body: 'psst' }
  const done = (async () => {
    while (talking) {
      const replies = await Promise.all(
        [1, 2, 3, 4].map(() => sender.call({ target: '/api/v1/messages', body })),
      )
      if (replies.some((reply) => reply.status >= 500)) throw new Error('a send failed')
    }
  })()
  return {
    async stop() {
      talking = false
      await done
    },
  }
}

/** The messages that arrived after a given time. */
const after = (stream: OpenStream, atMs: number) =>
  stream.events.filter((event) => event.type === 'messages' && event.atMs > atMs).flatMap(messagesOf)

describe.each(transports)('a wait over the %s', (name, open) => {
  test.concurrent.each(losses)('ends when $by', async ({ reason, happens }) => {
    const its = await scene()
    const stream = await listen(bridge, its.lost, open)
    const talking = talk(its)
    await stream.messages(20)
    await happens(bridge, its)
    // Data sent before the owner was answered arrives in the next turns of this process.
    for (let turns = 0; turns < 3; turns += 1) await turn()
    const answeredMs = performance.now()
    expect(await stream.reason()).toBe(reason)
    const tookMs = performance.now() - answeredMs
    await talking.stop()
    // Without a notification a long-poll would end after twenty seconds.
    expect(tookMs).toBeLessThan(15_000)
    expect(after(stream, answeredMs)).toEqual([])
    if (name === 'socket') expect([4401, 4409]).toContain(await stream.ended)
  })
})

interface QuietEnding extends Omit<Loss, 'happens'> {
  readonly sql: string
  readonly value: (scene: Scene) => string
}

const quiet: readonly QuietEnding[] = [
  {
    by: 'its credential is revoked',
    reason: 'credential_revoked',
    sql: "UPDATE credentials SET revoked_at = '2020-01-01T00:00:00.000Z' WHERE id = ?",
    value: ({ lost }) => lost.enrolled.credential_id,
  },
  {
    by: 'its credential expires',
    reason: 'credential_expired',
    sql: "UPDATE credentials SET expires_at = '2020-01-01T00:00:00.000Z' WHERE id = ?",
    value: ({ lost }) => lost.enrolled.credential_id,
  },
  {
    by: 'the agent is disabled',
    reason: 'agent_disabled',
    sql: "UPDATE agents SET state = 'disabled' WHERE id = ?",
    value: ({ lost }) => lost.id,
  },
  {
    by: 'its session is fenced',
    reason: 'session_fenced',
    sql: "UPDATE sessions SET state = 'fenced' WHERE id = ?",
    value: ({ lost }) => lost.session?.id ?? '',
  },
  {
    by: 'the project is archived',
    reason: 'project_archived',
    sql: "UPDATE projects SET state = 'archived' WHERE id = ?",
    value: ({ project }) => project.id,
  },
  {
    by: 'the project is deleted',
    reason: 'credential_unknown',
    sql: "UPDATE projects SET deleted_at = '2020-01-01T00:00:00.000Z' WHERE id = ?",
    value: ({ project }) => project.id,
  },
]

describe.each(transports)('without a notification the recheck ends a wait over the %s', (_name, open) => {
  const recheck = () => void vi.advanceTimersByTime(limits.recheckSeconds * 1000)

  test.each(quiet)('when $by', async ({ reason, sql, value }) => {
    const its = await scene()
    const stream = await listen(bridge, its.lost, open)
    behindItsBack(bridge, sql, value(its))
    recheck()
    expect(await stream.reason()).toBe(reason)
    expect(stream.events.filter((event) => event.type === 'messages')).toEqual([])
  })

  test('a message that another process stored is delivered', async () => {
    const its = await scene()
    const stream = await listen(bridge, its.lost, open)
    await its.sender.send(its.conversation, its.lost.id, 'first')
    await stream.messages(1)
    storeBehindItsBack(bridge, its.conversation)
    recheck()
    const [, second] = await stream.messages(2)
    expect(second?.body).toBe('first')
    stream.close()
  })
})
