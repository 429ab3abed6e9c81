/** A waiting live view ends with an empty page when presence changes. Contract §10 "when presence changes". */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import type { EventList } from '../../../sdk/contract/owner/audit.ts'
import type { ProjectSnapshot } from '../../../sdk/contract/owner/snapshot.ts'
import { Owner } from '../../../sdk/index.ts'
import { createPresenceChanges, type WaitLevel } from '../../../server/delivery/presence-changes.ts'
import { openWait, untilListening } from '../../support/waits.ts'
import { type Pair, startWorld, type World } from '../endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

const of = ({ project }: Pair, rest = '') => `/api/admin/projects/${project.id}${rest}`
const snapshot = (pair: Pair) => world.owner.ok<ProjectSnapshot>({ target: of(pair) })
const ada = async (pair: Pair) =>
  (await snapshot(pair)).agents.find(({ id }) => id === pair.ada.id)?.connection

/** Reads a snapshot, as a view does, and returns the cursor and a wait that continues from there. */
async function view(pair: Pair) {
  const last = (await snapshot(pair)).activity.at(-1)?.id ?? ''
  const wait = () => world.owner.ok<EventList>({ target: of(pair, `/events?after=${last}&wait_seconds=20`) })
  return { wait, empty: { events: [], has_more: false, next_after: last } }
}

describe('a wait', () => {
  // The periodic recheck and the end of the wait come only if a test lets its timers pass.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  /** Lets time of the server's timers pass until the answer is there. */
  async function passing<T>(answer: Promise<T>, stepMs: number): Promise<T> {
    let isDone = false
    const done = () => {
      isDone = true
    }
    answer.then(done, done)
    while (!isDone) {
      vi.advanceTimersByTime(stepMs)
      await world.owner.ok({ target: '/api/admin/session' })
    }
    return answer
  }

  test('ends when an agent begins to listen, also between the snapshot and the wait', async () => {
    const pair = await world.pair()
    const { wait, empty } = await view(pair)
    const listener = openWait(pair.ada)
    await untilListening({ owner: world.owner, project: pair.project }, pair.ada)
    expect(await wait()).toEqual(empty)
    expect(await ada(pair)).toMatchObject({ listening_now: true })
    await listener.leave()
  })

  test('ends when the listener leaves, and again when its listening runs out', async () => {
    onTestFinished(world.bridge.clock.hold())
    const pair = await world.pair()
    const listener = openWait(pair.ada)
    await untilListening({ owner: world.owner, project: pair.project }, pair.ada)
    const { wait, empty } = await view(pair)
    await listener.leave()
    expect(await passing(wait(), 100)).toEqual(empty)
    expect(await ada(pair)).toMatchObject({ listening_now: true })
    world.bridge.clock.advance(limits.listeningGraceSeconds)
    expect(await passing(wait(), 1000)).toEqual(empty)
    expect(await ada(pair)).toMatchObject({ listening_now: false })
  })

  test('ends when a schedule becomes overdue', async () => {
    const pair = await world.pair()
    const body = { mode: 'short_poll', interval_seconds: 60 }
    await pair.ada.ok({ target: '/api/v1/connection-mode', body })
    const { wait, empty } = await view(pair)
    const waiting = wait()
    world.bridge.clock.advance(60 + limits.overdueSeconds + 1)
    expect(await passing(waiting, 500)).toEqual(empty)
    expect((await ada(pair))?.next_contact).toMatchObject({ overdue: true })
  })

  test('is not ended by an agent of another project', async () => {
    const [pair, other] = [await world.pair(), await world.pair()]
    const { wait } = await view(pair)
    const waiting = wait()
    const listener = openWait(other.ada)
    await untilListening({ owner: world.owner, project: other.project }, other.ada)
    await pair.ada.send(pair.conversation, pair.ben.id, 'this ends it')
    const { events } = await waiting
    expect(events.map(({ kind }) => kind)).toEqual(['message.sent'])
    await listener.leave()
  })
})

test('two changes are answered at least a second apart', async () => {
  const pair = await world.pair()
  const { wait, empty } = await view(pair)
  const beganMs = performance.now()
  const first = openWait(pair.ada)
  expect(await wait()).toEqual(empty)
  const second = openWait(pair.ben)
  await untilListening({ owner: world.owner, project: pair.project }, pair.ben)
  // The answer covers ben, whose change a snapshot has not shown yet.
  expect(await wait()).toEqual(empty)
  expect(performance.now() - beganMs).toBeGreaterThan(1000)
  await Promise.all([first.leave(), second.leave()])
})

test('the SDK shows a listener long before the next regular snapshot', async () => {
  const pair = await world.pair()
  // The regular snapshot would come after 20 seconds.
  const patient: typeof fetch = (input, init) =>
    fetch(String(input).replace(/wait_seconds=\d+/, 'wait_seconds=20'), init)
  const owner = await Owner.signIn({
    baseUrl: world.bridge.url,
    linkToken: await world.linkToken(),
    fetch: patient,
  })
  const stop = new AbortController()
  const shown = owner.projects.watch(pair.project.id, { signal: stop.signal })
  await shown.next()
  const beganMs = performance.now()
  const listener = openWait(pair.ada)
  const isListening = ({ agents }: ProjectSnapshot) =>
    agents.some(({ connection }) => connection.listening_now)
  for await (const each of shown) if (isListening(each)) break
  expect(performance.now() - beganMs).toBeLessThan(15_000)
  stop.abort()
  await listener.leave()
  await owner.close()
})

describe('changes of presence', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const started = () => {
    const changes = createPresenceChanges()
    let heard = 0
    changes.subscribe('demo', () => {
      heard += 1
    })
    const waits = (n: number, level: WaitLevel, project_id = 'demo') =>
      changes.waits({ agent_id: `${project_id} ${n}`, project_id }, level)
    return { changes, waits, heard: () => heard }
  }

  test('are none while 5000 agents wait again and again', () => {
    const { changes, waits, heard } = started()
    for (let n = 0; n < 5000; n += 1) waits(n, 2)
    expect(heard()).toBe(5000)
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 5000; n += 1) waits(n, 0)
      vi.advanceTimersByTime(400)
      for (let n = 0; n < 5000; n += 1) waits(n, 2)
      vi.advanceTimersByTime(20_000)
    }
    expect([heard(), changes.version('demo')]).toEqual([5000, 5000])
  })

  test('are the beginning and the end of a wait, and the end of listening', () => {
    const { waits, heard } = started()
    const steps: number[] = []
    const step = (level: WaitLevel | undefined, ms: number) => {
      if (level !== undefined) waits(1, level)
      vi.advanceTimersByTime(ms)
      steps.push(heard())
    }
    step(1, 0)
    step(2, 0)
    step(1, 499)
    step(undefined, 1)
    step(0, 500)
    step(undefined, 4099)
    step(undefined, 1)
    step(undefined, 60_000)
    expect(steps).toEqual([1, 2, 2, 3, 4, 4, 5, 5])
    waits(1, 2, 'another')
    expect(heard()).toBe(5)
    expect(vi.getTimerCount()).toBe(0)
  })
})
