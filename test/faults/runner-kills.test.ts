/**
 * A runner is killed at each of its steps: while it waits, just after its claim, and while its command runs.
 * It is also killed after the command has ended, before and after the node stored the result. In each case
 * its command ends with it, the task is done or open again after its lease, and it ends once.
 *
 * BRIDGE_KILLS=50 repeats every step that often.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { chanceFrom } from '../support/chance.ts'
import { Desk } from '../support/desk.ts'
import { untilGone } from '../support/process-groups.ts'
import { type Enrolled, enrollAgain } from '../support/profiles.ts'
import { createTask, getTask, timelineOf } from '../support/tasks.ts'
import { type Started, TestHome } from '../support/test-home.ts'
import { type Gate, openGate } from './lab/runner-gate.ts'

const rounds = Math.ceil(Number(process.env.BRIDGE_KILLS ?? 1))
const { PATH = '' } = process.env

let bridge: TestBridge
let gate: Gate
/** Two ways to use one profile: a process that is killed, and the same program in this process. */
let home: TestHome
let desk: Desk
let runner: Pick<Enrolled, 'id' | 'name'>

beforeAll(async () => {
  bridge = await startBridge()
  gate = await openGate(bridge.url)
  desk = await Desk.make()
  home = TestHome.at(desk.folder)
  const { id } = await bridge.owner.createAgent(bridge.project.id, 'runner')
  runner = { id, name: 'runner' }
  await enrollAgain({ ...bridge, url: gate.url }, desk, runner)
  await asRunner('session', 'start')
})

afterEach(() => gate.disarm())

afterAll(async () => {
  await home.remove()
  await desk.remove()
  await gate.close()
  await bridge.close()
})

const file = (name: string) => join(desk.folder, name)
const command = () => `echo $$ > '${file('pid')}'; echo begun; sleep 0.2; echo done; touch '${file('over')}'`
const words = () => ['task', 'run', '--exec', command(), '--once']

/** With the real clock, as corrected by the node. */
const start = () => home.start([...words(), '--profile', 'runner'])
const asRunner = (...args: string[]) =>
  desk.run([...args, '--profile', 'runner'], { clock: () => bridge.clock(), environment: { PATH } })
const runAgain = () => asRunner(...words())

const given = (fields: object = {}) =>
  createTask(bridge.ada, runner, { claim_ttl_seconds: 30, max_attempts: 20, ...fields })

async function untilThere(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 1))
}

/** The event after which a runner is killed. */
const steps: Readonly<Record<string, (started: Started) => Promise<unknown>>> = {
  'it has claimed': (started) => started.said(/claimed/),
  'its command is running': (started) => started.said(/begun/),
  'its command has ended': () => untilThere(file('over')),
}

/** Kills the runner and, with it, its command. */
async function kill(started: Started): Promise<void> {
  started.child.kill('SIGKILL')
  await started.ended
  if (!existsSync(file('pid'))) return
  // The command itself writes the file: it may be killed before that.
  const leader = Number(readFileSync(file('pid'), 'utf8'))
  rmSync(file('pid'))
  if (leader > 0) await untilGone(leader)
}

interface Peers {
  readonly peers: readonly { readonly id: string; readonly connection: { readonly connected: boolean } }[]
}

const outcome = { state: 'completed', outcome: { result: 'begun\ndone' } }

async function expectDoneOnce(id: string): Promise<void> {
  expect(await getTask(bridge.ada, id)).toMatchObject(outcome)
  expect((await timelineOf(bridge.ada, id)).filter((event) => event === 'completed')).toHaveLength(1)
}

const chance = chanceFrom(rounds)

test.each(Object.keys(steps))(
  'a runner that is killed when %s loses nothing',
  { timeout: 300_000 * rounds },
  async (step) => {
    for (let round = 0; round < rounds; round += 1) {
      rmSync(file('over'), { force: true })
      const { id } = await given()
      const started = start()
      await steps[step]?.(started)
      if (rounds > 1) await new Promise((resolve) => setTimeout(resolve, chance() * 30))
      await kill(started)
      bridge.clock.advance(31)
      const left = await getTask(bridge.ada, id)
      expect(left.claim).toBeNull()
      // If the result was reported before the kill, the task is done; otherwise the next runner does it.
      if (left.state !== 'completed') {
        expect(left.state).toBe('open')
        expect((await runAgain()).code).toBe(0)
      }
      await expectDoneOnce(id)
    }
  },
)

/** After this time the outbox treats an entry that a process was sending as abandoned. */
const leftBehindSeconds = 121

/** Returns the output of the flush of the outbox. */
const flushed = async () => {
  bridge.clock.advance(leftBehindSeconds)
  const { stdout, stderr } = await asRunner('outbox', 'flush')
  expect((await asRunner('outbox', 'list', '--json')).stdout).toBe('{"entries":[]}\n')
  return stdout + stderr
}

async function killedWhile(fault: Parameters<Gate['arm']>[0], fields: object = {}): Promise<string> {
  const { id } = await given(fields)
  const caught = gate.arm(fault)
  const started = start()
  await Promise.race([caught, started.ended.then(({ stderr }) => Promise.reject(new Error(stderr)))])
  await kill(started)
  gate.disarm()
  return id
}

test('a result in flight when its runner was killed arrives while the claim is valid', {
  timeout: 300_000 * rounds,
}, async () => {
  for (let round = 0; round < rounds; round += 1) {
    const id = await killedWhile('swallows', { claim_ttl_seconds: 300 })
    expect((await getTask(bridge.ada, id)).state).toBe('claimed')
    await flushed()
    await expectDoneOnce(id)
  }
})

test('a result in flight is refused once the lease has expired and the next runner has done the task', {
  timeout: 300_000 * rounds,
}, async () => {
  for (let round = 0; round < rounds; round += 1) {
    const id = await killedWhile('swallows')
    bridge.clock.advance(31)
    expect((await getTask(bridge.ada, id)).state).toBe('open')
    const again = await runAgain()
    expect(again.code).toBe(0)
    // Either of the two commands may find it first.
    expect(again.stderr + (await flushed())).toMatch(
      /dropped from the outbox, because it was refused: .*the claim has ended/,
    )
    await expectDoneOnce(id)
    expect(await getTask(bridge.ada, id)).toMatchObject({ attempts: 2 })
  }
})

test('a result that was stored when its runner was killed is kept, and repeating it changes nothing', {
  timeout: 300_000 * rounds,
}, async () => {
  for (let round = 0; round < rounds; round += 1) {
    const id = await killedWhile('keeps')
    expect(await getTask(bridge.ada, id)).toMatchObject(outcome)
    expect(await flushed()).toMatch(/^sent /m)
    await expectDoneOnce(id)
    expect(await getTask(bridge.ada, id)).toMatchObject({ attempts: 1 })
  }
})

test('a runner that is killed while it waits holds no claim', async () => {
  // The contact of the earlier runner is too old to count.
  bridge.clock.advance(61)
  const waiting = start()
  const seenByAda = async () => {
    const { peers } = await bridge.ada.ok<Peers>({ target: '/api/v1/peers' })
    return peers.find(({ id }) => id === runner.id)?.connection.connected
  }
  await expect.poll(seenByAda).toBe(true)
  await kill(waiting)
  const { id } = await given()
  expect((await runAgain()).code).toBe(0)
  await expectDoneOnce(id)
})
