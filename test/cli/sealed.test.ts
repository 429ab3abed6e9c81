/**
 * Files and messages sealed to the key of their recipient, with a real node; and the same with Debian's age,
 * if it is installed. Contract §9, §12.
 */
import { execFileSync } from 'node:child_process'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ageKeyOf,
  identityFileOf,
  type Message,
  newAgeKey,
  openSealedFile,
  sealFile,
  type Transfer,
} from '../../sdk/program.ts'
import { visible } from '../support/boxes.ts'
import type { TestBridge } from '../support/bridge.ts'
import type { Desk } from '../support/desk.ts'
import { fileOf } from '../support/files.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'
import { FileScene } from './file-scene.ts'

let scene: FileScene
let bridge: TestBridge
let desk: Desk
let folder: string
let kim: Enrolled
let lou: Enrolled
const bytes = fileOf(200_000)

beforeAll(async () => {
  scene = await FileScene.open('kim', 'lou')
  ;({ bridge, desk, folder, sender: kim, recipient: lou } = scene)
  await enrolled(bridge, desk, 'mia')
  await writeFile(join(folder, 'report.pdf'), bytes)
  await lou.lines('key', 'create')
})

afterAll(() => scene.close())

const source = () => join(folder, 'report.pdf')
const box = () => scene.box()
/** The sealed copies of uploads, below the private folder of the profile. */
const sealedCopies = async () => {
  const all = await readdir(desk.path('kim', 'transfers', 'sending'), { recursive: true }).catch(() => [])
  return all.filter((name) => /[/\\]root[/\\]|draft$/.test(name))
}
const keyFile = () => desk.path('lou', 'age.key')

async function send(...more: string[]): Promise<Transfer> {
  const [sent] = await kim.lines<Transfer>('transfer', 'send', source(), '--to', 'lou', ...more)
  if (sent === undefined) throw new Error('nothing was sent')
  return sent
}

test('a key is made once, private to its profile, and only its public half is shown', async () => {
  const { mode } = await stat(keyFile())
  expect((mode & 0o777).toString(8)).toBe('600')
  const { recipient, secret } = await ageKeyOf(await readFile(keyFile(), 'utf8'))
  const again = await lou.bridge('key', 'create')
  expect(again.stdout).toContain(recipient)
  const shown = await lou.bridge('key', 'show')
  expect(shown.stdout).toBe(`${recipient}\n`)
  expect(again.stdout + again.stderr + shown.stdout).not.toContain(secret)
  expect(await kim.bridge('key', 'show')).toMatchObject({ code: 3, stdout: '' })
})

test('a key is exported only as a private file on request, and imported from standard input', async () => {
  const out = join(folder, 'backup.agekey')
  const exported = await lou.bridge('key', 'export', out)
  const { secret } = await ageKeyOf(await readFile(out, 'utf8'))
  expect(exported).toMatchObject({ code: 0, stdout: expect.not.stringContaining(secret) })
  expect(((await stat(out)).mode & 0o777).toString(8)).toBe('600')
  expect((await lou.bridge('key', 'export', out)).code).toBe(7)
  const text = await readFile(out, 'utf8')
  const into = (stdin: string, profile: string) =>
    desk.run(['key', 'import', '--profile', profile], { stdin })
  expect((await into(text, 'lou')).code).toBe(0)
  expect((await into(identityFileOf(await newAgeKey()), 'lou')).code).toBe(7)
  for (const wrong of [
    'nothing\n',
    text.replace(/KEY-1(.)/, (_, letter) => `KEY-1${letter === 'Q' ? 'P' : 'Q'}`),
  ])
    expect(await into(wrong, 'kim')).toMatchObject({ code: 2, stderr: expect.not.stringContaining(secret) })
})

test('a file for a recipient with a key is sealed, and arrives opened, byte for byte', async () => {
  const sent = await send()
  expect(sent).toMatchObject({ encryption: 'age', filename: 'report.pdf' })
  expect(sent.size).toBeGreaterThan(bytes.length)
  const stored = await readFile(join(bridge.data, 'packages', sent.id, 'package'))
  expect(stored.subarray(0, 21).toString()).toBe('age-encryption.org/v1')
  expect(stored.includes(bytes.subarray(0, 64))).toBe(false)
  expect(await sealedCopies()).toEqual([])

  const into = await box()
  const received = await lou.bridge('transfer', 'receive', sent.id, '--output', into)
  expect(received).toMatchObject({ code: 0, stdout: expect.stringContaining('opened with the key') })
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  expect(await readdir(into)).toEqual(['report.pdf'])
})

test('--no-encrypt sends a file unsealed, and --encrypt refuses a recipient without a key', async () => {
  expect((await send('--no-encrypt')).encryption).toBe('none')
  const [plain] = await kim.lines<Transfer>('transfer', 'send', source(), '--to', 'mia')
  expect(plain?.encryption).toBe('none')
  const refused = await kim.bridge('transfer', 'send', source(), '--to', 'mia', '--encrypt')
  expect(refused).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('no registered key') })
  expect(await sealedCopies()).toEqual([])
})

test('an interrupted upload resumes with the same sealed bytes, and then deletes them', async () => {
  const { id, ...broken } = await scene.interrupted('report.pdf')
  expect(broken).toMatchObject({ code: 130, stderr: expect.stringContaining('sealed to the key') })
  const [copy = '', ...more] = await sealedCopies()
  expect(more).toEqual([])
  const path = desk.path('kim', 'transfers', 'sending', copy)
  expect(((await stat(path)).mode & 0o777).toString(8)).toBe('600')
  await kim.lines('transfer', 'send', source(), '--resume', id)
  expect(await sealedCopies()).toEqual([])
  const into = await box()
  await lou.bridge('transfer', 'list')
  await lou.lines('transfer', 'receive', id, '--output', into)
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
})

test('a cancelled upload leaves no sealed copy and cannot be resumed', async () => {
  const { id } = await scene.interrupted('report.pdf')
  await kim.lines('transfer', 'cancel', id)
  expect(await sealedCopies()).toEqual([])
  const late = await kim.bridge('transfer', 'send', source(), '--resume', id)
  expect(late).toMatchObject({ code: 7, stderr: expect.stringContaining('cancelled') })
})

test('a sealed file is not received without its key or with another, and opening it later fetches nothing', async () => {
  const { id } = await send()
  const own = await readFile(keyFile(), 'utf8')
  const into = await box()
  await rm(keyFile())
  const without = await lou.bridge('transfer', 'receive', id, '--output', into)
  expect(without).toMatchObject({ code: 5, stderr: expect.stringContaining('no age key here') })
  expect(await readdir(into)).toEqual([])

  await writeFile(keyFile(), identityFileOf(await newAgeKey()), { mode: 0o600 })
  const other = await lou.bridge('transfer', 'receive', id, '--output', into)
  expect(other).toMatchObject({ code: 5, stderr: expect.stringContaining('sealed to another key') })
  expect(await visible(into)).toEqual([])
  const [shown] = await kim.lines<Transfer>('transfer', 'show', id)
  expect(shown).toMatchObject({ state: 'accepted', receipt: null })

  await writeFile(keyFile(), own, { mode: 0o600 })
  await writeFile(join(bridge.data, 'packages', id, 'package'), fileOf(100))
  const again = await lou.bridge('transfer', 'receive', id, '--output', into, '--json')
  expect(again.code).toBe(0)
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  expect(await readdir(into)).toEqual(['report.pdf'])
})

test('altered sealed bytes produce neither a file nor plain text anywhere', async () => {
  const { id } = await send()
  const stored = join(bridge.data, 'packages', id, 'package')
  const wrong = await readFile(stored)
  wrong[wrong.length - 5] = (wrong[wrong.length - 5] ?? 0) ^ 1
  await writeFile(stored, wrong)
  const into = await box()
  expect((await lou.bridge('transfer', 'receive', id, '--output', into)).code).toBe(15)
  expect(await visible(into)).toEqual([])
  // The same applies to a file that its sender sealed incorrectly, whose hashes are all right:
  const bad = join(folder, 'bad.age')
  await writeFile(bad, wrong)
  const { secret } = await ageKeyOf(await readFile(keyFile(), 'utf8'))
  await expect(openSealedFile(bad, join(into, 'x'), secret)).rejects.toMatchObject({ code: 'integrity' })
  expect(await visible(into)).toEqual([])
})

test('an existing file at the destination stays for a sealed transfer too', async () => {
  const { id } = await send()
  const into = await box()
  await writeFile(join(into, 'report.pdf'), 'mine')
  expect((await lou.bridge('transfer', 'receive', id, '--output', into)).code).toBe(7)
  expect(await readFile(join(into, 'report.pdf'), 'utf8')).toBe('mine')
  expect((await lou.bridge('transfer', 'receive', id, '--output', into, '--overwrite')).code).toBe(0)
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
})

test('a sealed message is readable with its key, marked as sealed without it, and unreadable for the node', async () => {
  const secretWords = 'the vault is behind the clock'
  const [sent] = await kim.lines<{ message: Message }>('send', 'lou', secretWords, '--encrypt')
  expect(sent?.message).toMatchObject({ encoding: 'age', body: expect.stringMatching(/^-----BEGIN AGE/) })
  for (const words of [['inbox'], ['listen', '--once', '--timeout', '20'], ['history', 'kim']]) {
    const { stdout } = await lou.bridge(...words)
    expect(stdout).toContain(`| ${secretWords}`)
    expect(stdout).toContain('opened with the key of this profile')
  }
  const mine = await kim.bridge('history', 'lou')
  expect(mine.stdout).toContain('the body is encrypted with age: this profile has no age key')
  expect(mine.stdout).not.toContain(secretWords)
  expect(await kim.bridge('send', 'mia', secretWords, '--encrypt')).toMatchObject({ code: 5, stdout: '' })
  expect((await kim.bridge('history', 'mia')).stdout).not.toContain(secretWords)
})

test('questions and answers are sealed too, and refused instead of sent unsealed if the other side has no key', async () => {
  const [told] = await lou.lines<{ message: Message }>('send', 'kim', 'where is the vault?')
  const [answer] = await kim.lines<{ message: Message }>(
    'reply',
    told?.message.id ?? '',
    'behind the clock',
    '--encrypt',
  )
  expect(answer?.message).toMatchObject({
    encoding: 'age',
    in_reply_to: told?.message.id,
    body: expect.stringMatching(/^-----BEGIN AGE/),
  })
  expect((await lou.bridge('inbox')).stdout).toContain('| behind the clock')

  const question = Promise.withResolvers<string>()
  const onError = (text: string) => {
    const id = /asked as (\S+),/.exec(text)?.[1]
    if (id !== undefined) question.resolve(id)
  }
  const words = ['ask', 'lou', 'which number?', '--encrypt', '--timeout', '120', '--json', '--profile', 'kim']
  const asking = desk.run(words, { onError })
  // An ask that ends early sent no question.
  void asking.then(({ stderr }) => question.reject(new Error(stderr)))
  const id = await question.promise
  // Kim has no key: lou sees the question, cannot seal an answer, and says so in an unsealed reply.
  const read = await lou.bridge('inbox')
  const refused = await lou.bridge('reply', id, 'seven', '--encrypt')
  const plain = await lou.bridge('reply', id, 'make a key first')
  expect(read.stdout).toContain('| which number?')
  expect(refused).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('kim has no registered key'),
  })
  expect(plain.code).toBe(0)
  expect(await asking).toMatchObject({ code: 0, stdout: expect.stringContaining('make a key first') })
  expect((await kim.bridge('history', 'lou')).stdout).not.toContain('seven')

  const early = await kim.bridge('ask', 'mia', 'which number?', '--encrypt', '--timeout', '1')
  expect(early).toMatchObject({ code: 5, stdout: '', stderr: expect.not.stringContaining('asked as') })
  expect((await kim.bridge('history', 'mia')).stdout).not.toContain('which number?')
})

const age = hasAge()
function hasAge(): boolean {
  try {
    execFileSync('age', ['--version'])
    return true
  } catch {
    return false
  }
}

test.skipIf(!age)(
  "Debian's age opens a file sealed by the program, and the program opens one sealed by age",
  async () => {
    const identity = join(folder, 'lou.agekey')
    await lou.lines('key', 'export', identity)
    const { recipient, secret } = await ageKeyOf(await readFile(identity, 'utf8'))
    for (const size of [0, 1, 65_536, 200_000]) {
      const plain = fileOf(size)
      const [from, ours, theirs] = ['from', 'ours', 'theirs'].map((name) => join(folder, `${name}-${size}`))
      if (from === undefined || ours === undefined || theirs === undefined) throw new Error('three paths')
      await writeFile(from, plain)
      await sealFile(from, ours, recipient)
      expect(execFileSync('age', ['-d', '-i', identity, ours]).equals(plain)).toBe(true)
      execFileSync('age', ['-r', recipient, '-o', theirs, from])
      await openSealedFile(theirs, `${theirs}.opened`, secret)
      expect((await readFile(`${theirs}.opened`)).equals(plain)).toBe(true)
    }
    const { id } = await send()
    const stored = join(bridge.data, 'packages', id, 'package')
    expect(execFileSync('age', ['-d', '-i', identity, stored]).equals(bytes)).toBe(true)
  },
)
