/**
 * Faults between the processes of three nodes, under the full story: suspended nodes, cut connections, lost
 * answers, dropped notifications and failing object stores. The clocks of the nodes differ by ten minutes
 * throughout. `BRIDGE_CLUSTER_FAULTS=100` is the number of each fault, and `BRIDGE_STOPPED_SECONDS=30` suspends
 * nodes for longer. Without the first one the tests are skipped, because their bounds need a machine without
 * other work.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { chanceFrom, pick } from '../../support/chance.ts'
import { agentAt } from '../../support/nodes.ts'
import type { Faults } from '../../support/object-store.ts'
import type { ServerProcess } from '../../support/process.ts'
import { openWait } from '../../support/waits.ts'
import { machineMs } from '../lab/client-log.ts'
import { type Harness, lacking } from '../lab/cluster/harness.ts'
import { Scene } from '../lab/cluster/scene.ts'
import { stopInsideGroup } from '../lab/cluster/stopped.ts'

const rounds = Number(process.env.BRIDGE_CLUSTER_FAULTS ?? 0)
const why = lacking || (rounds === 0 ? 'BRIDGE_CLUSTER_FAULTS' : '')
const stoppedMs = Number(process.env.BRIDGE_STOPPED_SECONDS ?? 4) * 1000
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const aheadMs = [0, 600_000, -600_000] as const

const laneWithinMs = 3000
const unreadyWithinMs = 2500
const readyWithinMs = 5000
/** A node looks for new messages once a second, and the request itself takes some time. */
const wakeWithinMs = 1500
const hours = 3_600_000

const statusOf = ({ url }: ServerProcess) =>
  fetch(`${url}/api/ready`).then(
    (answer) => answer.status,
    () => 0,
  )

/** Milliseconds until readiness has this status. */
async function untilReady(node: ServerProcess, status: number): Promise<number> {
  const begunMs = performance.now()
  while ((await statusOf(node)) !== status) await sleep(20)
  return performance.now() - begunMs
}

describe.skipIf(why !== '')(`faults between three nodes (seed ${seed}) ${why}`, () => {
  const chance = chanceFrom(seed)
  let scene: Scene
  let harness: Harness
  beforeAll(async () => {
    const node = (index: number) => ({ clockFrom: new Date(Date.now() + (aheadMs[index] ?? 0)) })
    scene = await Scene.start({ seed, standby: false, node, pairs: 1 })
    harness = scene.harness
    await scene.plays(4)
  })
  afterAll(() => scene?.close())

  const anyIndex = () => pick(chance, [0, 1, 2]) ?? 0

  test(
    'a node that is suspended inside a transaction frees its lanes within three seconds',
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const stopped = await stopInsideGroup(harness, anyIndex())
        try {
          expect(await stopped.freed()).toBeLessThan(laneWithinMs)
          await scene.writes(stopped.atMs)
          await sleep(Math.max(0, stoppedMs - (machineMs() - stopped.atMs)))
        } finally {
          stopped.resume()
        }
        await scene.plays(1)
      }
    },
    hours,
  )

  test.each(['all', 'answers'] as const)(
    'a node whose connection to the database drops %s is not ready, and returns',
    async (what) => {
      for (let round = 0; round < rounds; round += 1) {
        const index = anyIndex()
        const [link, node] = [harness.links[index], harness.nodes[index]] as const
        if (link === undefined || node === undefined) throw new Error('there is no such node')
        link.drop(what)
        try {
          expect(await untilReady(node, 503)).toBeLessThan(unreadyWithinMs)
          await scene.plays(1)
        } finally {
          link.drop('none')
        }
        expect(await untilReady(node, 200)).toBeLessThan(readyWithinMs)
        await scene.plays(1)
      }
    },
    hours,
  )

  test.each(['before', 'answer'] as const)(
    'a connection that is cut at COMMIT, %s, leaves one effect for each key',
    async (when) => {
      for (let round = 0; round < rounds; round += 1) {
        const link = pick(chance, harness.links)
        const before = link?.cuts ?? 0
        link?.cutAt('COMMIT', when)
        await expect.poll(() => link?.cuts).toBe(before + 1)
        await scene.plays(1)
      }
    },
    hours,
  )

  const wakeMs = async (from: number, to: number, [ada, ben]: readonly [TestAgent, TestAgent]) => {
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
  const friends = async (): Promise<[TestAgent, TestAgent]> => {
    const { owner, url } = harness
    const project = await owner.createProject('friends')
    const one = async (name: string) => {
      const { id } = await owner.createAgent(project.id, name)
      const agent = await enroll(url, await owner.enrollmentCode(project.id, id), () => new Date())
      await agent.startSession()
      return agent
    }
    return [await one('ada'), await one('ben')]
  }

  test(
    'without notifications a wait at another node gets its message within a second',
    async () => {
      const pair = await friends()
      for (let round = 0; round < rounds; round += 1) {
        harness.links[0]?.swallow('pg_notify')
        expect(await wakeMs(0, 1, pair)).toBeLessThan(wakeWithinMs)
        harness.links[0]?.swallow()
        await harness.primary.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE pid <> pg_backend_pid() AND (query ILIKE '%listen%' OR query ILIKE '%notify%')`,
        )
        expect(await wakeMs(1, 2, pair)).toBeLessThan(wakeWithinMs)
        const modes = () =>
          Promise.all(
            harness.nodes.map(
              async ({ url }) => ((await (await fetch(`${url}/api/ready`)).json()) as Ready).peers,
            ),
          )
        await expect.poll(modes, { timeout: 10_000 }).toEqual(['notified', 'notified', 'notified'])
      }
    },
    hours,
  )

  const storeFaults: readonly (readonly [string, () => Faults])[] = [
    ['is slow', () => ({ before: () => sleep(300).then(() => undefined) })],
    ['answers 500', () => once(() => ({ status: 500, code: 'InternalError' }), 'before')],
    ['cuts uploads', () => ({ cutAfter: onceTrue((_call, bytes) => bytes > 100_000) })],
    ['loses the answer to an upload', () => once(() => 'lost' as const, 'afterPut')],
  ]
  test.each(storeFaults)(
    'files arrive whole while the object store %s',
    async (_name, faults) => {
      for (let round = 0; round < rounds; round += 1) {
        harness.objects.faults = faults()
        try {
          await scene.plays(4)
        } finally {
          harness.objects.faults = {}
        }
      }
    },
    hours,
  )

  test(
    'every rule holds over all of it',
    async () => {
      const { wrong, seen } = await scene.end()
      process.stderr.write(`${wrong.join('\n')}\n`)
      expect(wrong).toEqual([])
      expect(seen.probes.length).toBeGreaterThan(20)
      expect(seen.replays.length).toBeGreaterThan(20)
    },
    hours,
  )
})

interface Ready {
  readonly peers: string
}

/** A fault of the first two uploads. */
function once<T>(fault: () => T, name: 'before' | 'afterPut'): Faults {
  let left = 2
  return { [name]: ({ verb }: { verb: string }) => (verb === 'PUT' && left-- > 0 ? fault() : undefined) }
}

function onceTrue(isDue: NonNullable<Faults['cutAfter']>): NonNullable<Faults['cutAfter']> {
  let left = 2
  return (call, bytes) => isDue(call, bytes) && left-- > 0
}
