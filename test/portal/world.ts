/**
 * A node with everything that the owner's page can show, the same in every run: two projects, nine agents, and
 * messages, tasks and transfers in all states.
 *
 * The clock of the node stands still. A test lets time pass with `world.clock.advance`.
 */
import { issueTelemetryToken } from '../../server/host/init.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type TestClock, testClock } from '../support/clock.ts'
import { testConfig } from '../support/config.ts'
import { exchange } from '../support/http.ts'
import type { TestOwner } from '../support/owner.ts'
import { openStore } from '../support/test-store.ts'
import { sameBytes } from './world/chance.ts'
import { type Files, files } from './world/files.ts'
import { type People, settle } from './world/people.ts'
import { type Talk, talk } from './world/talk.ts'
import { type Work, work } from './world/work.ts'

export interface PortalWorld extends People {
  readonly url: string
  readonly clock: TestClock
  readonly bridge: TestBridge
  readonly owner: TestOwner
  /** The project that has everything. The other one, `demo`, has two agents that never spoke. */
  readonly project: { readonly id: string }
  readonly talk: Talk
  readonly tasks: Work
  readonly transfers: Files
  close(): Promise<void>
}

const start = new Date('2026-03-02T08:00:00.000Z')

export async function startPortalWorld(): Promise<PortalWorld> {
  const clock = testClock(start)
  const goOn = clock.hold()
  clock.set(start)
  const bridge = await startBridge({ clock, random: sameBytes() })
  const { owner } = bridge
  const project = await owner.createProject('Release 4.2', { description: 'Everything for the release.' })
  const people = await settle(bridge, project.id)
  const spoken = await talk(bridge, people, project.id)
  const tasks = await work(bridge, people, project.id, spoken.question)
  const transfers = await files(bridge, people)
  removeFirst(bridge.data, spoken.gap, 5)
  await beHere(bridge, people)
  return {
    ...people,
    ...{ url: bridge.url, clock, bridge, owner, project, talk: spoken, tasks, transfers },
    async close() {
      await bridge.close()
      goOn()
    },
  }
}

/** Removes the first messages of a conversation, as the node does when their time has passed. */
function removeFirst(data: string, conversation: string, through: number): void {
  const database = openStore(data)
  database
    .prepare('DELETE FROM messages WHERE conversation_id = ? AND sequence <= ?')
    .run(conversation, through)
  database
    .prepare('UPDATE conversations SET removed_through_sequence = ? WHERE id = ?')
    .run(through, conversation)
  database.close()
}

/** Each agent with a session has a connection of its own kind. */
async function beHere(bridge: TestBridge, { agents }: People): Promise<void> {
  const { ada, ben, long, dan, thai } = agents
  const mode = (by: typeof ada, body: object) => by.ok({ target: '/api/v1/connection-mode', body, key: null })
  await mode(dan, { mode: 'short_poll', interval_seconds: 60 })
  bridge.clock.advance(600)
  await report(bridge, 'build-02', 91.4, 30)
  await mode(ben, { mode: 'checkpoint' })
  bridge.clock.advance(400)
  await mode(thai, { mode: 'short_poll', interval_seconds: 300 })
  bridge.clock.advance(25)
  await report(bridge, 'build-01', 37.5, 11)
  await long.ok({ target: '/api/v1/peers' })
  bridge.clock.advance(15)
  for (let left = true; left; ) {
    const { messages, has_more } = await ada.inbox('?limit=100')
    await ada.acknowledge(...messages.map(({ id }) => id))
    left = has_more
  }
  // The clock stands still, so ada listens for good after its wait.
  await ada.inbox('?wait_seconds=1')
}

const gib = 1024 ** 3

async function report({ url, data, clock }: TestBridge, host: string, cpu_percent: number, used: number) {
  const token = await issueTelemetryToken(testConfig(data))
  const sample = { host, sampled_at: clock().toISOString(), cpu_percent }
  const { status, text } = await exchange(url, {
    method: 'POST',
    target: '/api/telemetry/host',
    headers: [
      ['Authorization', `Bearer ${token}`],
      ['Content-Type', 'application/json'],
    ],
    body: JSON.stringify({ ...sample, memory_used_bytes: used * gib, memory_total_bytes: 32 * gib }),
  })
  if (status !== 200) throw new Error(`telemetry answered ${status}: ${text}`)
}
