/**
 * A new enrolment on a machine that already has the profile. The printed command works, keeps the files of
 * the profile, and can be repeated after a kill at any point. An enrolment of another agent, or at another
 * node, deletes nothing.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { startNode } from '../support/fake-node.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'
import { canTrace } from '../support/strace.ts'
import { TestHome } from '../support/test-home.ts'

let bridge: TestBridge
let home: Desk
let cleo: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

let count = 0
beforeEach(async () => {
  count += 1
  home = await Desk.make()
  cleo = await enrolled(bridge, home, `cleo-${count}`)
})
afterEach(() => home.remove())

const codeFor = (id: string): Promise<string> => bridge.owner.enrollmentCode(bridge.project.id, id)

const enrol = (profile: string, code: string, ...more: string[]) =>
  home.run(['enroll', '--url', bridge.url, '--profile', profile, ...more], { stdin: `${code}\n` })

/** Stores one message in the outbox by making the node unreachable. */
async function keepOne(): Promise<void> {
  const gone = await startNode(() => {})
  await gone.close()
  const path = home.path(cleo.name, 'profile.json')
  const stored = await readFile(path, 'utf8')
  await writeFile(path, JSON.stringify({ ...JSON.parse(stored), base_url: gone.url }))
  expect((await cleo.bridge('send', 'owner', 'kept')).code).toBe(9)
  await writeFile(path, stored)
}

const bodies = async (): Promise<string[]> =>
  (await cleo.lines<{ messages: { body: string }[] }>('history', 'owner')).flatMap(({ messages }) =>
    messages.map(({ body }) => body),
  )

test('the prompt of a new enrolment works as printed, and the profile keeps outbox, journal and age key', async () => {
  await bridge.owner.message(bridge.project.id, cleo.id, 'heard')
  await cleo.bridge('key', 'create')
  expect((await cleo.bridge('listen', '--once', '--timeout', '20')).stdout).toContain('| heard')
  await keepOne()
  const before = await readdir(home.path(cleo.name))
  const instance = async () =>
    JSON.parse(await readFile(home.path(cleo.name, 'profile.json'), 'utf8')).instance_id
  const instanceBefore = await instance()

  const again = await enrol(cleo.name, await codeFor(cleo.id))
  expect(again).toMatchObject({
    code: 0,
    stdout: `enrolled as ${cleo.name} in demo at ${bridge.url}, profile ${cleo.name}\n`,
    stderr: 'the profile has a new key; its outbox, journal and age key are kept\n',
  })
  const after = await readdir(home.path(cleo.name))
  const kept = (names: readonly string[]) =>
    names.filter((name) => !/^(key-|session|peers)/.test(name)).sort()
  expect(kept(after)).toEqual(kept(before))
  expect(after.filter((name) => name.endsWith('.pem'))).toHaveLength(1)
  expect(await instance()).toBe(instanceBefore)
  // The next command sends the stored message. A printed message is not printed again, although a new session
  // is offered it.
  expect(await cleo.bridge('listen', '--once', '--timeout', '1')).toMatchObject({ code: 4, stdout: '' })
  expect((await cleo.bridge('send', 'owner', 'new')).stderr).toMatch(/^sent from the outbox: /)
  expect(await bodies()).toEqual(['heard', 'kept', 'new'])
})

test('a code of another agent leaves the profile unchanged, and the suggested command uses it', async () => {
  const other = await bridge.owner.createAgent(bridge.project.id, `eve-${count}`)
  const code = await codeFor(other.id)
  const before = await readFile(home.path(cleo.name, 'profile.json'), 'utf8')
  expect(await enrol(cleo.name, code)).toMatchObject({
    code: 7,
    stdout: '',
    stderr:
      `bridge: this code is for the agent eve-${count} of demo; the profile ${cleo.name} belongs to the agent ${cleo.name} of demo\n` +
      `hint: the same command with --profile eve-${count} enrols into another profile; --replace replaces ${cleo.name}\n`,
  })
  expect(await readFile(home.path(cleo.name, 'profile.json'), 'utf8')).toBe(before)
  expect((await cleo.bridge('whoami')).stdout).toContain(`agent ${cleo.name} `)

  expect(await enrol(`eve-${count}`, code)).toMatchObject({ code: 0, stderr: '' })
  expect((await home.run(['whoami', '--profile', `eve-${count}`])).stdout).toContain(`agent eve-${count} `)
  expect((await readdir(home.path(cleo.name))).filter((name) => name.startsWith('pending-'))).toEqual([])
  // If the suggested profile name is taken by another agent, the hint names a different one.
  const third = await bridge.owner.createAgent(bridge.project.id, `fay-${count}`)
  await enrol('taken', await codeFor(third.id))
  const taken = await bridge.owner.createAgent(bridge.project.id, 'taken')
  expect((await enrol(cleo.name, await codeFor(taken.id))).stderr).toContain(
    '--profile taken-demo enrols into another profile',
  )
})

test('--replace assigns the profile to the agent of the code, also after a refusal', async () => {
  const other = await bridge.owner.createAgent(bridge.project.id, `eve-${count}`)
  const code = await codeFor(other.id)
  expect((await enrol(cleo.name, code)).code).toBe(7)
  expect((await enrol(cleo.name, code, '--replace')).code).toBe(0)
  expect((await cleo.bridge('whoami')).stdout).toContain(`agent eve-${count} `)
})

test('a code is not used up at another node', async () => {
  const elsewhere = await startBridge()
  const { id } = await elsewhere.owner.createAgent(elsewhere.project.id, cleo.name)
  const code = await elsewhere.owner.enrollmentCode(elsewhere.project.id, id)
  const there = (profile: string) =>
    home.run(['enroll', '--url', elsewhere.url, '--profile', profile], { stdin: `${code}\n` })
  expect(await there(cleo.name)).toMatchObject({
    code: 7,
    stderr:
      `bridge: the profile ${cleo.name} belongs to the agent ${cleo.name} of demo at another node, ${bridge.url}\n` +
      'hint: the same command with --profile NAME enrols into another profile; --replace discards this one\n',
  })
  expect(await readdir(home.path())).toEqual([cleo.name])
  const other = await Desk.make()
  const ended = await other.run(['enroll', '--url', elsewhere.url], { stdin: `${code}\n` })
  expect(ended.code).toBe(0)
  await other.remove()
  await elsewhere.close()
})

/**
 * The order of an enrolment: the request follows the first moment, and the record is written between the last
 * two.
 */
const moments = [
  ['the pending key', 'rename,renameat,renameat2', 1, 'pending-'],
  ['the key', 'rename,renameat,renameat2', 2, 'key-'],
  ['the old session', 'unlink,unlinkat', 1, 'session.json'],
  ['the old key', 'unlink,unlinkat', 3, 'key-'],
] as const

test.runIf(canTrace).each(moments)(
  'after a kill at %s, the same command completes the enrolment, and nothing is lost',
  async (_what, calls, nth, file) => {
    await cleo.bridge('peers')
    await keepOne()
    const code = await codeFor(cleo.id)
    const trace = `${home.folder}/calls`
    const inject = ['-e', `trace=${calls}`, '-e', `inject=${calls}:signal=SIGKILL:when=${nth}`]
    const started = TestHome.at(home.folder).start(['enroll', '--url', bridge.url, '--profile', cleo.name], {
      under: ['strace', '-f', '-qqq', '-o', trace, ...inject],
      // Calls are counted per thread.
      environment: { UV_THREADPOOL_SIZE: '1', NODE_DISABLE_COMPILE_CACHE: '1' },
    })
    started.child.stdin.end(`${code}\n`)
    expect((await started.ended).code).toBeNull()
    expect(
      (await readFile(trace, 'utf8')).split('\n').findLast((line) => line.includes('/profiles/')),
    ).toContain(`/${file}`)
    expect(await enrol(cleo.name, code)).toMatchObject({ code: 0 })
    const files = await readdir(home.path(cleo.name))
    expect(files.filter((name) => name.endsWith('.pem'))).toEqual([expect.stringMatching(/^key-/)])
    expect((await cleo.bridge('send', 'owner', 'new')).stderr).toMatch(/^sent from the outbox: /)
    expect(await bodies()).toEqual(['kept', 'new'])
  },
)
