/** `bridge task run --exec`: real commands in a shell, which are stopped and killed. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { TaskOutput } from '../../cli/exec/task-output.ts'
import type { Task } from '../../sdk/index.ts'
import type { TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk, type DeskOptions } from '../support/desk.ts'
import { untilGone } from '../support/process-groups.ts'
import { enrolled } from '../support/profiles.ts'
import { act, createTask, getTask, timelineOf } from '../support/tasks.ts'
import { TestHome } from '../support/test-home.ts'

let bridge: TestBridge
let desk: Desk
let eve: Pick<TestAgent, 'id'>

const { PATH = '' } = process.env

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  eve = await bridge.owner.createAgent(bridge.project.id, 'eve')
  await enrollAt(desk, 'eve')
})

async function enrollAt(at: Pick<Desk, 'run'> | TestHome, profile: string): Promise<void> {
  const code = await bridge.owner.enrollmentCode(bridge.project.id, eve.id)
  await at.run(['enroll', '--url', bridge.url, '--profile', profile], { stdin: `${code}\n` })
  await at.run(['session', 'start', '--profile', profile])
}

afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

const given = (fields: object = {}): Promise<Task> =>
  createTask(bridge.ada, eve, { claim_ttl_seconds: 30, ...fields })

interface RunAs extends DeskOptions {
  readonly profile?: string
}

const run = (exec: string, more: readonly string[] = [], { profile = 'eve', ...options }: RunAs = {}) =>
  desk.run(['task', 'run', '--exec', exec, '--once', '--timeout', '20', '--profile', profile, ...more], {
    clock: () => bridge.clock(),
    environment: { PATH },
    ...options,
  })

/** Runs a command, and acts as soon as it has printed `begun`. */
async function runAnd(
  exec: string,
  more: readonly string[],
  act: (controller: AbortController) => unknown,
  profile = 'eve',
) {
  const interruption = new AbortController()
  let begun = false
  const onError = (text: string) => {
    if (begun || !text.includes('begun')) return
    begun = true
    void act(interruption)
  }
  return run(exec, more, { interruption, onError, profile })
}

test('a command gets title and instructions, and its output and exit code become result and evidence', async () => {
  const { id } = await given({ title: 'Sum up', instructions: '1\n2\n3' })
  const file = join(desk.folder, 'out.txt')
  const exec = `cat > '${file}'; echo "progress: 40% nearly"; echo "$BRIDGE_TASK_TITLE of $BRIDGE_TASK_ID, attempt $BRIDGE_TASK_ATTEMPT"; printf %s "$BRIDGE_TASK_INSTRUCTIONS" | wc -l`
  const ended = await run(exec, ['--evidence', file])
  expect([ended.code, ended.stdout]).toEqual([0, ''])
  expect(ended.stderr).toMatch(
    /^claimed \S+: Sum up\nprogress: 40% nearly\nSum up of [\s\S]*\ncompleted \S+\n$/,
  )
  expect(await readFile(file, 'utf8')).toBe('Sum up\n\n1\n2\n3\n')
  const task = await getTask(bridge.ada, id)
  const printed = `progress: 40% nearly\nSum up of ${id}, attempt 1\n2\n`
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  expect(task).toMatchObject({
    state: 'completed',
    progress: { note: 'nearly', percent: 40 },
    outcome: {
      result: `Sum up of ${id}, attempt 1\n2`,
      evidence: [
        { kind: 'command', value: exec, exit_code: 0, sha256: sha256(printed) },
        { kind: 'file', value: file, sha256: sha256('Sum up\n\n1\n2\n3\n') },
      ],
    },
  })
})

test('a failing command never completes its task, but fails or releases it', async () => {
  const failing = await given()
  const ended = await run('echo half a result; exit 3')
  expect(ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`the task ${failing.id.slice(-8)} is failed`),
  })
  expect((await getTask(bridge.ada, failing.id)).outcome).toMatchObject({
    kind: 'failed',
    result: 'the command exited 3; it printed last: half a result',
    evidence: [{ kind: 'command', exit_code: 3 }],
  })
  const again = await given()
  expect((await run('exit 1', ['--on-failure', 'release'])).code).toBe(1)
  expect(await getTask(bridge.ada, again.id)).toMatchObject({ state: 'open', attempts: 1 })
  // A missing evidence file makes the command fail.
  const missing = await run('true', ['--evidence', '/no/such/file'])
  expect(missing.code).toBe(1)
  expect((await getTask(bridge.ada, again.id)).outcome?.result).toContain('/no/such/file')
})

test('the end of a text for the node is never half of a character', async () => {
  const printing = await given()
  const ended = await run(`printf '😀'; printf '%0499d' 0; exit 1`)
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('is failed') })
  expect((await getTask(bridge.ada, printing.id)).outcome?.result).toBe(
    `the command exited 1; it printed last: ${'0'.repeat(499)}`,
  )
  // The command itself is evidence, of which the node gets the beginning.
  const long = await given()
  const exec = `: ${'a'.repeat(997)}😀${'a'.repeat(4096)}`
  expect((await run(exec)).code).toBe(0)
  expect((await getTask(bridge.ada, long.id)).outcome?.evidence).toMatchObject([
    { kind: 'command', value: `: ${'a'.repeat(997)} …` },
  ])
  const noting = await given()
  const note = `${'a'.repeat(999)}😀${'a'.repeat(4096)}`
  expect((await run(`echo 'progress: ${note}'`)).code).toBe(0)
  expect((await getTask(bridge.ada, noting.id)).progress?.note).toBe(`${'a'.repeat(999)} …`)
})

test('of an output that is long as JSON, so much is kept that the node takes the result', async () => {
  const { id } = await given()
  expect((await run(`head -c 60000 /dev/zero; echo end`)).code).toBe(0)
  const task = await getTask(bridge.ada, id)
  expect(task.state).toBe('completed')
  const shown = task.outcome?.result?.replaceAll('\0', '0') ?? ''
  const [, leftOut = '', kept = ''] = /^\[(\d+) bytes before this were left out\]\n(0+end)$/.exec(shown) ?? []
  expect(Number(leftOut) + kept.length).toBe(60_003)
})

test('more files than a result has places for evidence are refused at the start', async () => {
  const files = (count: number) => Array.from({ length: count }, () => ['--evidence', '/no/such/file']).flat()
  const ended = await run('true', files(32))
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('31 times at most') })
  const { id } = await given()
  const file = join(desk.folder, 'once.txt')
  expect(
    (
      await run(
        `: > '${file}'`,
        files(31).map((word) => (word === '--evidence' ? word : file)),
      )
    ).code,
  ).toBe(0)
  expect((await getTask(bridge.ada, id)).outcome?.evidence).toHaveLength(32)
})

test('a cancelled command gets SIGTERM, then SIGKILL after its grace period, and the stop is confirmed once it has ended', async () => {
  const polite = await given()
  const gone = join(desk.folder, 'gone')
  const ended = await runAnd(`trap 'echo bye > ${gone}; exit 0' TERM; echo begun; sleep 60 & wait`, [], () =>
    act(bridge.ada, polite.id, 'cancel'),
  )
  expect(ended.code).toBe(0)
  expect(ended.stderr).toMatch(/cancelled: stopping the command of \S+\ncancelled \S+\n$/)
  expect(await readFile(gone, 'utf8')).toBe('bye\n')
  expect((await getTask(bridge.ada, polite.id)).cancellation?.stop_confirmed_at).not.toBeNull()

  const stubborn = await given()
  const killed = await runAnd(`trap '' TERM; echo begun; while :; do sleep 1; done`, ['--grace', '1'], () =>
    act(bridge.ada, stubborn.id, 'cancel'),
  )
  expect(killed.code).toBe(0)
  expect(await getTask(bridge.ada, stubborn.id)).toMatchObject({ state: 'cancelled', outcome: null })
})

test('Ctrl-C stops the command and releases the task', async () => {
  const { id } = await given()
  const ended = await runAnd('echo begun; sleep 60', [], (interruption) => interruption.abort())
  expect(ended.code).toBe(130)
  expect(await getTask(bridge.ada, id)).toMatchObject({ state: 'open', claim: null, attempts: 1 })
  await bridge.ada.ok({ target: `/api/v1/tasks/${id}/cancel`, body: {} })
})

test('a lost claim stops the command immediately, without a report', async () => {
  const fay = await enrolled(bridge, desk, 'fay')
  await fay.bridge('session', 'start')
  const { id } = await createTask(bridge.ada, fay, { claim_ttl_seconds: 30 })
  const file = join(desk.folder, 'pid')
  const ended = await runAnd(
    `echo $$ > '${file}'; echo begun; sleep 60; echo a result`,
    [],
    () => bridge.owner.takeover(bridge.project.id, fay.id),
    'fay',
  )
  expect(ended.code).toBe(11)
  expect(ended.stderr).toMatch(
    /the claim is lost: stopping the command of \S+\nthe claim of \S+ is lost; nothing was reported\nbridge: the claim was lost/,
  )
  await untilGone(Number(await readFile(file, 'utf8')))
  expect(await timelineOf(bridge.ada, id)).toEqual(['created', 'claimed'])
  bridge.clock.advance(31)
  expect(await getTask(bridge.ada, id)).toMatchObject({ state: 'open', outcome: null })
})

// A renewal is due after a third of the lease, in real time.
test.skipIf(process.env.BRIDGE_LEASES === undefined)(
  'an expired claim stops the command at its next renewal (BRIDGE_LEASES=1)',
  async () => {
    const { id } = await given()
    const ended = await runAnd('echo begun; sleep 60; echo a result', [], () => bridge.clock.advance(31))
    expect(ended.code).toBe(11)
    expect(await getTask(bridge.ada, id)).toMatchObject({ state: 'open', outcome: null })
    await bridge.ada.ok({ target: `/api/v1/tasks/${id}/cancel`, body: {} })
  },
)

test('without an open task the command reports that', async () => {
  const ended = await desk.run(['task', 'run', '--exec', 'true', '--timeout', '1', '--profile', 'eve'], {
    clock: () => bridge.clock(),
  })
  expect(ended).toMatchObject({ code: 4, stderr: 'bridge: no task came within 1 second\n' })
})

test('a killed runner kills its command, and leaves its task to the next runner', async () => {
  const home = await TestHome.make()
  onTestFinished(() => home.remove())
  await enrollAt(home, 'eve')
  const { id } = await given()
  const [pid, told] = [join(home.folder, 'pid'), join(home.folder, 'told')]
  // The command receives the signal to stop, and continues.
  const exec = `echo $$ > '${pid}'; trap 'echo stop > ${told}' TERM; echo begun; while :; do sleep 0.1; done`
  const started = home.start(['task', 'run', '--exec', exec, '--grace', '3s', '--profile', 'eve'])
  await started.said(/begun/)
  started.child.kill('SIGKILL')
  await untilGone(Number(await readFile(pid, 'utf8')))
  expect(await readFile(told, 'utf8')).toBe('stop\n')
  await started.ended
  expect((await getTask(bridge.ada, id)).state).toBe('claimed')
  bridge.clock.advance(31)
  expect((await getTask(bridge.ada, id)).state).toBe('open')
  const second = home.start(['task', 'run', '--exec', 'echo finished', '--once', '--profile', 'eve'])
  expect((await second.ended).code).toBe(0)
  expect(await getTask(bridge.ada, id)).toMatchObject({ state: 'completed', attempts: 2 })
  expect(await timelineOf(bridge.ada, id)).toEqual(
    expect.arrayContaining(['created', 'claimed', 'expired', 'claimed', 'completed']),
  )
})

/** The output of a command, its reports, and its clock, which the test moves. */
function watchedOutput() {
  const reported: object[] = []
  const clock = { now: 0 }
  const output = new TaskOutput({
    show: () => {},
    report: async (progress) => {
      reported.push(progress)
    },
    nowMs: () => clock.now,
  })
  return { output, reported, clock }
}

test('the latest progress is reported one second after the previous one, even without further output', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { output, reported, clock } = watchedOutput()
  const print = (text: string) => output.add(Buffer.from(text), text)
  print('progress: 10%\n')
  clock.now += 400
  print('progress: 20%\n')
  print('progress: 30%\n')
  await vi.advanceTimersByTimeAsync(599)
  expect(reported).toEqual([{ percent: 10 }])
  clock.now += 600
  await vi.advanceTimersByTimeAsync(1)
  expect(reported).toEqual([{ percent: 10 }, { percent: 30 }])
  print('progress: 40%\n')
  // The server in this process may have a timer too, so the timers are counted before anything else runs.
  const before = vi.getTimerCount()
  const ended = output.end('')
  expect(vi.getTimerCount()).toBe(before - 1)
  await ended
  await vi.advanceTimersByTimeAsync(2000)
  expect(reported).toEqual([{ percent: 10 }, { percent: 30 }, { percent: 40 }])
})

test('of a long output the end is kept, and its hash covers all of it', async () => {
  const { output, reported, clock } = watchedOutput()
  const all = `${'é'.repeat(50_000)}\nprogress: 10%\nprogress: 20% more\nlast\n`
  output.add(Buffer.from(all), all)
  clock.now += 1500
  output.add(Buffer.from('progress: 120% over'), 'progress: 120% over')
  await output.end('')
  expect(output.result).toMatch(/^\[\d+ bytes before this were left out\]\né+\nlast$/)
  expect(Buffer.byteLength(output.result)).toBeLessThan(64 * 1024)
  expect(output.sha256).toBe(createHash('sha256').update(`${all}progress: 120% over`).digest('hex'))
  expect(reported).toEqual([
    { note: 'more', percent: 20 },
    { note: 'over', percent: 100 },
  ])
})
