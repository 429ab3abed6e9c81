/** `bridge task claim --keep`: processes that renew a claim, and their ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Task } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { untilGone } from '../support/process-groups.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'
import { program } from '../support/program.ts'
import { createTask, getTask } from '../support/tasks.ts'
import { Started, TestHome } from '../support/test-home.ts'

let bridge: TestBridge
let desk: Desk
let home: TestHome
let eve: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  home = TestHome.at(desk.folder)
  eve = await enrolled(bridge, home, 'eve')
  await eve.bridge('session', 'start')
})

afterAll(async () => {
  await home.remove()
  await bridge.close()
})

/** A process that lives until the test ends it. */
function worker(): ChildProcess & { readonly pid: number } {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child as ChildProcess & { readonly pid: number }
}

const given = (): Promise<Task> => createTask(bridge.ada, eve, { claim_ttl_seconds: 3600 })
const keep = (id: string, pid: number) =>
  eve.bridge('task', 'claim', id, '--keep', '--while-pid', String(pid))
/** The process that the command says renews the claim. */
const renewer = (stderr: string): number => Number(/^process (\d+) /m.exec(stderr)?.[1])
const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const files = () => readdir(home.path('eve', 'claims')).catch(() => [])

test('a claim is renewed once at a time, until the process that asked for it is gone', async () => {
  const { id } = await given()
  const { pid } = worker()
  const first = await keep(id, pid)
  expect(first).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('claim: generation 1'),
    stderr: expect.stringMatching(
      `^process \\d+ renews the claim until the task ends or process ${pid} is gone\n$`,
    ),
  })
  const { claim } = await getTask(bridge.ada, id)
  // Its lifetime is that of a worker's claim, and it was renewed after it was made.
  const lifeMs = Date.parse(claim?.expires_at ?? '') - Date.parse(claim?.claimed_at ?? '')
  expect(lifeMs).toBeGreaterThan(300_000)
  expect(lifeMs).toBeLessThan(400_000)

  const again = await keep(id, worker().pid)
  expect(again).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      `process ${renewer(first.stderr)} already renews the claim until the task ends or process ${pid} is gone\n`,
    ),
  })
  process.kill(pid, 'SIGKILL')
  await untilGone(renewer(first.stderr))
  expect(await files()).toEqual([`${id}.json`])
})

const recordOf = async (id: string) =>
  JSON.parse(await readFile(home.path('eve', 'claims', `${id}.renewing.json`), 'utf8'))

test('a task that is released and claimed again at once is renewed by a new process', async () => {
  const { id } = await given()
  const { pid } = worker()
  const first = renewer((await keep(id, pid)).stderr)
  expect(await eve.bridge('task', 'release', id, 'not yet')).toMatchObject({ code: 0 })
  const again = await keep(id, pid)
  const second = renewer(again.stderr)
  expect(again).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('claim: generation 2'),
    stderr: expect.stringContaining(`process ${second} renews the claim`),
  })
  expect(second).not.toBe(first)
  await untilGone(first)
  expect(await recordOf(id)).toEqual({ pid: second, while_pid: pid, generation: 2 })
  process.kill(pid, 'SIGKILL')
  await untilGone(second)
})

test('a renewal waits for the end of the one of an earlier claim', async () => {
  const { id } = await given()
  const { pid } = worker()
  const first = renewer((await keep(id, pid)).stderr)
  // It notices nothing and keeps its lock.
  process.kill(first, 'SIGSTOP')
  onTestFinished(() => void (isThere(first) && process.kill(first, 'SIGKILL')))
  await eve.bridge('task', 'release', id, 'not yet')
  await eve.bridge('task', 'claim', id)
  const watched = worker()
  const pauses: number[] = []
  const args = ['task', 'renew', id, '--while-pid', String(watched.pid), '--profile', 'eve']
  const ended = await desk.run(args, {
    sleep: async (ms, signal) => {
      pauses.push(ms)
      if (pauses.length === 1) {
        process.kill(first, 'SIGCONT')
        return untilGone(first)
      }
      expect(await recordOf(id)).toMatchObject({ pid: process.pid, generation: 2 })
      watched.kill('SIGKILL')
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    },
  })
  // The third is that of the lease.
  expect(pauses.slice(0, 2)).toEqual([100, 15_000])
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('renews the claim') })
})

test.each<[string, string, string, (agent: Enrolled) => Promise<unknown>]>([
  [
    'revoked credential',
    'rae',
    'the claim was lost: the credential was revoked',
    async () => {
      const { identity } = JSON.parse(await readFile(desk.path('rae', 'profile.json'), 'utf8'))
      await bridge.owner.revoke(bridge.project.id, identity.credential_id)
    },
  ],
  ['claim that has expired', 'roy', 'the claim was lost', async () => bridge.clock.advance(3601)],
])('the renewal ends at its next check after a %s, and says so', async (_name, name, words, lose) => {
  const agent = await enrolled(bridge, home, name)
  await agent.bridge('session', 'start')
  const { id } = await createTask(bridge.ada, agent, { claim_ttl_seconds: 3600 })
  await agent.lines('task', 'claim', id)
  const pauses: number[] = []
  const args = ['task', 'renew', id, '--while-pid', String(worker().pid), '--profile', name]
  const ended = await desk.run(args, {
    // The claim is lost during the first pause, which then ends. The wait for the end of the claim goes on.
    sleep: async (ms, signal) => {
      if (ms > 60_000) return void (await once(signal as AbortSignal, 'abort'))
      pauses.push(ms)
      if (pauses.length === 1) await lose(agent)
    },
  })
  expect(pauses).toEqual([15_000])
  expect(ended).toMatchObject({ code: 11, stderr: expect.stringContaining(`bridge: ${words}`) })
  expect((await readdir(desk.path(name, 'claims'))).sort()).toEqual([`${id}.json`])
})

test('the end of the task ends the renewal, and a claim that was lost is exit 11', async () => {
  const { id } = await given()
  const { pid } = worker()
  const { stderr } = await keep(id, pid)
  expect(await eve.bridge('task', 'complete', id, 'done', '--evidence', 'text:x')).toMatchObject({ code: 0 })
  await untilGone(renewer(stderr))
  expect((await files()).filter((name) => name.startsWith(id))).toEqual([])

  const lost = await given()
  await eve.bridge('task', 'claim', lost.id)
  bridge.clock.advance(3601)
  expect(await eve.bridge('task', 'renew', lost.id, '--while-pid', String(pid))).toMatchObject({ code: 11 })
  expect((await files()).filter((name) => name.startsWith(lost.id))).toEqual([`${lost.id}.json`])
})

/** Runs a command line below a process that lives until the test ends it, as a coding agent does. */
function below(words: readonly string[], stdin = ''): Started {
  const script = `
    const { argv: [, , stdin, program, ...words] } = process
    const { spawn } = require('node:child_process')
    spawn(program, words, { stdio: ['pipe', 'inherit', 'inherit'] }).stdin.end(stdin)
    setInterval(() => {}, 1e6)`
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, ['-e', script, '-', stdin, ...words], {
    env: { PATH, HOME: home.folder, BRIDGE_HOME: join(home.folder, 'bridge') },
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return new Started(child)
}

const claiming = (id: string) => `"${process.execPath}" "${program}" task claim ${id} --keep --profile eve`

test.each<[string, (line: string) => readonly string[]]>([
  ['of one shell', (line) => ['sh', '-c', `${line}; true`]],
  ['with options before it', (line) => ['bash', '--norc', '-o', 'pipefail', '-ec', `${line}; true`]],
  ['with options after it', (line) => ['bash', '-c', '-l', `${line}; true`]],
  ['of a shell within a shell', (line) => ['sh', '-c', '(sh -c "$0"; true); true', `${line}; true`]],
  ['of npx', (line) => ['npm', 'exec', '--offline', '--call', `${line}; true`]],
])('below a command line %s, the process that runs it is watched', async (_what, words) => {
  const { id } = await given()
  const started = below(words(claiming(id)))
  const { child } = started
  const stderr = await started.said(/ is gone\n/)
  expect(stderr).toContain(` or process ${child.pid} is gone\n`)
  child.kill('SIGKILL')
  await untilGone(renewer(stderr))
  expect((await files()).filter((name) => name.startsWith(id))).toEqual([`${id}.json`])
})

test.each<[string, (path: string) => readonly string[]]>([
  ['that reads its commands', () => ['sh']],
  ['that runs a script', (path) => ['bash', '-e', path, '-c']],
])('a shell %s is the watched process', async (_what, words) => {
  const { id } = await given()
  const lines = `echo "shell $$" >&2; ${claiming(id)}\ntrue\n`
  const path = join(home.folder, 'script')
  await writeFile(path, lines)
  const stderr = await below(words(path), lines).said(/ is gone\n/)
  const [, shell] = /^shell (\d+)$/m.exec(stderr) ?? []
  expect(stderr).toContain(` or process ${shell} is gone\n`)
  await untilGone(renewer(stderr))
})

test('a process that is gone, or process 1, is refused before anything is claimed', async () => {
  const { id } = await given()
  const gone = worker()
  gone.kill('SIGKILL')
  await once(gone, 'exit')
  expect(await keep(id, gone.pid)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      `^bridge: process ${gone.pid} has ended, so the claim would not be renewed\nhint: --while-pid names`,
    ),
  })
  expect(await keep(id, 1)).toMatchObject({ code: 2, stderr: expect.stringContaining('from 2 to') })
  expect(await eve.bridge('task', 'claim', id, '--while-pid', String(process.pid))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--while-pid needs --keep'),
  })
  expect((await getTask(bridge.ada, id)).state).toBe('open')
})
