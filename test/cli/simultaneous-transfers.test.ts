/** Simultaneous transfers: of one command, and of several commands of one profile. Contract §9, §12. */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Transfer } from '../../sdk/index.ts'
import type { Desk } from '../support/desk.ts'
import { fileOf } from '../support/files.ts'
import type { Enrolled } from '../support/profiles.ts'
import type { Started, TestHome } from '../support/test-home.ts'
import { FileScene } from './file-scene.ts'

let scene: FileScene
let desk: Desk
let home: TestHome
let folder: string
let pia: Enrolled
let quy: Enrolled
const names = ['a.bin', 'b.bin', 'c.bin']
const bytesOf = (name: string) => fileOf(50_000 + name.charCodeAt(0), name.charCodeAt(0))

beforeAll(async () => {
  scene = await FileScene.open('pia', 'quy')
  ;({ desk, home, folder, sender: pia, recipient: quy } = scene)
  for (const name of names) await writeFile(join(folder, name), bytesOf(name))
})

afterAll(() => scene.close())

const box = () => scene.box()
const paths = () => names.map((name) => join(folder, name))

async function expectAll(into: string): Promise<void> {
  expect((await readdir(into)).sort()).toEqual(names)
  for (const name of names) expect((await readFile(join(into, name))).equals(bytesOf(name))).toBe(true)
}

test('one command sends several files, one receives them, and each is reported separately', async () => {
  const sent = await pia.lines<Transfer>('transfer', 'send', ...paths(), '--to', 'quy')
  expect(sent.map(({ filename }) => filename).sort()).toEqual(names)
  const into = await box()
  const ids = sent.map(({ id }) => id)
  const received = await quy.lines<{ transfer: Transfer }>('transfer', 'receive', ...ids, '--output', into)
  expect(received.map(({ transfer }) => transfer.state)).toEqual(['verified', 'verified', 'verified'])
  await expectAll(into)
})

test('a failing file does not stop the others, and its failure is reported with its name', async () => {
  const none = join(folder, 'none.bin')
  const [first = '', second = ''] = paths()
  const sent = await pia.bridge('transfer', 'send', first, none, second, '--to', 'quy', '--json')
  const lines = sent.stdout.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).filename).sort()).toEqual(['a.bin', 'b.bin'])
  expect(sent).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/none\.bin: .*\n.*1 of 3 failed/s),
  })
  const last = lines.map((line) => JSON.parse(line).id)
  const into = await box()
  const mixed = await quy.bridge(
    'transfer',
    'receive',
    first.replace(/.*/, unknown),
    ...last,
    '--output',
    into,
  )
  expect(mixed.code).toBe(3)
  expect((await readdir(into)).sort()).toEqual(['a.bin', 'b.bin'])
})
const unknown = '01980000-0000-7000-8000-000000000003'

test('commands of one profile send and receive simultaneously, each process another file', async () => {
  // One of them runs in this process: they share only the disk and the node.
  const send = (name: string) => ['transfer', 'send', join(folder, name), '--to', 'quy', '--profile', 'pia']
  const [a, b, c] = await Promise.all([
    home.json<Transfer>(send('a.bin')),
    home.json<Transfer>(send('b.bin')),
    desk.json<Transfer>(send('c.bin')),
  ])
  const into = await box()
  const receive = (of: Transfer) => ['transfer', 'receive', of.id, '--output', into, '--profile', 'quy']
  const received = await Promise.all([home.run(receive(a)), home.run(receive(b)), desk.run(receive(c))])
  expect(received.map(({ code }) => code)).toEqual([0, 0, 0])
  await expectAll(into)
  for (const who of ['pia', 'quy'])
    for (const kept of await readdir(desk.path(who, 'transfers')).catch(() => []))
      expect([who, kept, await readdir(desk.path(who, 'transfers', kept))]).toEqual([who, kept, []])
})

test('two commands that receive the same file into one place produce one complete file', async () => {
  const [sent] = await pia.lines<Transfer>('transfer', 'send', join(folder, 'a.bin'), '--to', 'quy')
  const into = await box()
  const words = ['transfer', 'receive', sent?.id ?? '', '--output', into, '--profile', 'quy']
  const ended = await Promise.all([desk.run(words), desk.run(words)])
  expect(ended.map(({ code }) => code)).toContain(0)
  for (const { code, stderr } of ended) if (code !== 0) expect(stderr).toMatch(/^bridge: /m)
  expect((await readFile(join(into, 'a.bin'))).equals(bytesOf('a.bin'))).toBe(true)
  expect((await quy.lines<Transfer>('transfer', 'show', sent?.id ?? ''))[0]?.state).toBe('verified')
})

test('an interrupted transfer resumes with the parts that were transferred, in both directions', async () => {
  const bytes = fileOf(17 * 1024 * 1024)
  const file = join(folder, 'large.bin')
  await writeFile(file, bytes)
  /** Sends control-C after the first part, then runs the same command again. */
  const twice = async (words: readonly string[]) => {
    const interruption = new AbortController()
    const onError = (text: string) => {
      if (/"phase":"moving".*"parts":1,/.test(text)) interruption.abort()
    }
    const broken = await desk.run([...words, '--json'], { interruption, onError })
    expect([broken.code, broken.stdout]).toEqual([130, ''])
    const whole = await desk.run([...words, '--json'])
    expect(whole).toMatchObject({ code: 0, stderr: expect.stringMatching(/"resumedParts":[12]}/) })
    return JSON.parse(whole.stdout)
  }
  const { id } = await twice(['transfer', 'send', file, '--to', 'quy', '--profile', 'pia'])
  const into = await box()
  await twice(['transfer', 'receive', id, '--output', into, '--profile', 'quy'])
  expect((await readFile(join(into, 'large.bin'))).equals(bytes)).toBe(true)
  expect(await readdir(into)).toEqual(['large.bin'])
})

test('a receiver that opens a sealed file does not publish what a second one has opened so far', async () => {
  const bytes = fileOf(24 * 1024 * 1024)
  await writeFile(join(folder, 'sealed.bin'), bytes)
  await quy.lines('key', 'create')
  const [sent] = await pia.lines<Transfer>('transfer', 'send', join(folder, 'sealed.bin'), '--to', 'quy')
  const { id = '', encryption } = sent ?? {}
  expect(encryption).toBe('age')
  const into = await box()
  /** The decrypted files in the staging folder, each with its inode. */
  const openedFiles = async () => {
    const staging = join(into, `.bridge-receive..${id}`)
    const names = (await readdir(staging).catch(() => [])).filter((name) => name.startsWith('opened'))
    return Promise.all(
      names.map(async (name) => `${name} ${(await stat(join(staging, name)).catch(() => undefined))?.ino}`),
    )
  }
  const receiver = () =>
    home.start(['transfer', 'receive', id, '--output', into, '--profile', 'quy', '--json'])
  /** Stops a receiver in the middle of its decrypted file, unless it ends before. */
  const stopWhileOpening = async ({ child, ended }: Started) => {
    const before = await openedFiles()
    let hasEnded = false
    void ended.then(() => {
      hasEnded = true
    })
    const hasBegun = async () => hasEnded || (await openedFiles()).some((one) => !before.includes(one))
    await expect.poll(hasBegun, { interval: 1 }).toBe(true)
    child.kill('SIGSTOP')
  }
  const first = receiver()
  await stopWhileOpening(first)
  const second = receiver()
  await stopWhileOpening(second)
  first.child.kill('SIGCONT')
  expect(await first.ended).toMatchObject({ code: 0 })
  second.child.kill('SIGKILL')
  await second.ended
  expect((await readFile(join(into, 'sealed.bin'))).equals(bytes)).toBe(true)
  expect(await readdir(into)).toEqual(['sealed.bin'])
})
