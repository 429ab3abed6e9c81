/**
 * `bridge transfer` with a real node and two profiles of one machine. Commands that end run in this process;
 * those interrupted by a signal, or drawing on a terminal, are separate processes. Contract §9, §12.
 */
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { destinationOf } from '../../cli/commands/transfer/receive.ts'
import { shellWord } from '../../sdk/contract/spelling.ts'
import type { Transfer, TransferSummary } from '../../sdk/index.ts'
import { visible } from '../support/boxes.ts'
import type { TestBridge } from '../support/bridge.ts'
import type { Desk } from '../support/desk.ts'
import { act, fileOf, look, offerBody, told } from '../support/files.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'
import { storeZeros } from '../support/sparse-package.ts'
import { canTrace } from '../support/strace.ts'
import type { TestHome } from '../support/test-home.ts'
import { FileScene } from './file-scene.ts'
import { inTerminal } from './terminal.ts'

let scene: FileScene
let bridge: TestBridge
let desk: Desk
let home: TestHome
let folder: string
let ines: Enrolled
let jon: Enrolled
const bytes = fileOf(70_000)
const sent = (file = 'report.pdf') => join(folder, file)

beforeAll(async () => {
  scene = await FileScene.open('ines', 'jon')
  ;({ bridge, desk, home, folder, sender: ines, recipient: jon } = scene)
  await writeFile(sent(), bytes)
})

afterAll(() => scene.close())

const box = () => scene.box()

async function upload(file = sent(), ...more: string[]): Promise<Transfer> {
  const [transfer] = await ines.lines<Transfer>('transfer', 'send', file, '--to', 'jon', ...more)
  if (transfer === undefined) throw new Error('nothing was sent')
  return transfer
}

const show = async (by: Enrolled, id: string): Promise<Transfer> =>
  (await by.lines<Transfer>('transfer', 'show', id))[0] as Transfer

test('a file is sent, listed and received byte for byte, and both sides see its receipt', async () => {
  const said = await ines.bridge('transfer', 'send', sent(), '--to', 'jon')
  expect(said).toMatchObject({ code: 0, stderr: expect.stringMatching(/^offered as \S+\n$/) })
  const id = /^uploaded (\S+): offered; /.exec(said.stdout)?.[1] ?? ''
  const listed = await jon.bridge('transfer', 'list', '--role', 'recipient', '--state', 'offered')
  expect(listed.stdout).toMatch(new RegExp(`${id} +offered, uploaded, .* ines +jon +68 KiB .*report.pdf`))
  const heard = await jon.bridge('listen', '--once', '--timeout', '20')
  expect(heard.stdout).toContain(`about transfer ${id}`)

  const into = await box()
  const received = await jon.bridge('transfer', 'receive', id, '--output', `${into}/`)
  expect(received).toMatchObject({ code: 0, stderr: '' })
  expect(received.stdout).toMatch(/^received .*report\.pdf: 70000 bytes, sha256 [0-9a-f]{64}, verified\n$/)
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  expect(await readdir(into)).toEqual(['report.pdf'])

  expect((await ines.bridge('transfer', 'cleanup', id)).stdout).toBe(`reported cleanup of ${id}: verified\n`)
  const { stdout } = await ines.bridge('transfer', 'show', id)
  expect(stdout).toMatch(/^state: verified$/m)
  expect(stdout).toMatch(/^receipt: 70000 bytes, sha256 [0-9a-f]{64}, /m)
  expect(stdout).toMatch(/^cleaned up: sender (?!no).*, recipient (?!no)/m)
})

test.each(['My notes.txt', '.gitignore', "-it's $(id)"])(
  'a file named %j is sent and received under its name',
  async (name) => {
    await writeFile(sent(name), bytes)
    const transfer = await upload(sent(name))
    expect(transfer.filename).toBe(name)
    const into = await box()
    expect((await jon.bridge('transfer', 'receive', transfer.id, '--output', into)).code).toBe(0)
    expect(await readdir(into)).toEqual([name])
    expect((await readFile(join(into, name))).equals(bytes)).toBe(true)
  },
)

test('a file whose name cannot travel is sent under another name', async () => {
  await writeFile(sent('übersicht.txt'), bytes)
  expect(await ines.bridge('transfer', 'send', sent('übersicht.txt'), '--to', 'jon')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^bridge: the name must be .*\nhint: --name NAME gives the recipient another name/,
    ),
  })
  expect(await upload(sent('übersicht.txt'), '--name', 'overview.txt')).toMatchObject({
    filename: 'overview.txt',
  })
})

test('with --json the transfer is on standard output, and progress on standard error, one line each', async () => {
  const { code, stdout, stderr } = await ines.bridge('transfer', 'send', sent(), '--to', 'jon', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ filename: 'report.pdf', size: 70_000, state: 'offered' })
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'))
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ progress: { bytes: 70_000, total: 70_000 } })
})

test('progress is drawn on a terminal only', async () => {
  const { stderr } = await ines.bridge('transfer', 'send', sent(), '--to', 'jon')
  expect(stderr).not.toContain('part 1 of 1')
  const line = `bridge transfer send ${sent()} --to jon --profile ines; echo left $?`
  const terminal = inTerminal(line, desk.home)
  expect(await terminal.ended).toBe(0)
  expect(terminal.sent()).toMatch(/\ruploaded 68 KiB of 68 KiB, .*\/s, part 1 of 1/)
  // The final text: each line as it was last drawn.
  const left = terminal
    .sent()
    .split('\r\n')
    .map((text) => text.split('\r').at(-1)?.replaceAll('\u001b[K', ''))
  expect(left).toEqual([
    expect.stringMatching(/^offered as \S+$/),
    expect.stringMatching(
      /^uploaded \S+: offered; bridge transfer show --profile ines \S+ shows the receipt$/,
    ),
    'left 0',
    '',
  ])
})

test('wrong bytes exit 15 without a file, and the transfer is not verified', async () => {
  const { id } = await upload()
  await writeFile(join(bridge.data, 'packages', id, 'package'), fileOf(70_000, 99))
  const into = await box()
  const refused = await jon.bridge('transfer', 'receive', id, '--output', into)
  expect(refused).toMatchObject({ code: 15, stdout: '' })
  expect(await visible(into)).toEqual([])
  expect(await show(ines, id)).toMatchObject({ state: 'accepted', receipt: null })
})

test('a receive whose transfer is cancelled in the middle reports that, exits 7 and leaves no file', async () => {
  const { id } = await storeZeros(bridge, { from: bridge.ada, to: jon })
  const into = await box()
  let ended: Promise<unknown> | undefined
  const onError = (text: string) => {
    if (/"phase":"moving".*"parts":1,/.test(text)) ended ??= act(bridge.ada, id, 'cancel')
  }
  const words = ['transfer', 'receive', id, '--output', into, '--json', '--profile', 'jon']
  const received = await desk.run(words, { onError })
  await ended
  expect(received).toMatchObject({ code: 7, stdout: '', stderr: expect.stringMatching(/is cancelled/) })
  expect(received.stderr).not.toContain('to resume')
  expect(await readdir(into)).toEqual([])
  expect((await look(bridge.ada, id)).cleanup.recipient_at).toEqual(expect.any(String))
})

test('an interrupted upload is resumed by the command that it printed', async () => {
  const name = "it's.pdf"
  await writeFile(sent(name), bytes)
  const { id, ...broken } = await scene.interrupted(name, '--name', 'its.pdf')
  expect([broken.code, broken.stdout]).toEqual([130, ''])
  expect(broken.stderr).toContain(
    `to resume: bridge transfer send --profile ines ${shellWord(sent(name))} --resume ${id}\n`,
  )
  expect((await show(ines, id)).package?.stored_at).toBeNull()

  const other = await ines.bridge('transfer', 'send', sent('none.pdf'), '--resume', id)
  expect(other).toMatchObject({ code: 1, stdout: '' })
  expect((await ines.bridge('transfer', 'send', sent(name), '--resume', id)).code).toBe(0)
  expect((await show(ines, id)).package?.stored_at).not.toBeNull()
})

test('control-C ends a receive and prints the command that resumes it, which completes the file', async () => {
  const transfer = await offeredOnly()
  const into = await box()
  const waiting = home.start(['transfer', 'receive', transfer.id, '--output', `${into}/`, '--profile', 'jon'])
  await waiting.said(/waiting for the sender/)
  waiting.child.kill('SIGINT')
  const { code, stderr } = await waiting.ended
  expect(code).toBe(130)
  expect(stderr).toContain(
    `to resume: bridge transfer receive --profile jon ${transfer.id} --output ${into}/`,
  )
  await ines.lines('transfer', 'send', sent(), '--resume', transfer.id)
  expect((await jon.bridge('transfer', 'receive', transfer.id, '--output', `${into}/`)).code).toBe(0)
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
})

/** Makes an offer whose upload was interrupted before its first byte. */
const offeredOnly = async (): Promise<TransferSummary> =>
  show(ines, (await scene.interrupted('report.pdf')).id)

test.skipIf(!canTrace).each(['report.pdf', '.'])(
  'a file that a killed receive left under its name gets no receipt while %s cannot be synced',
  async (name) => {
    const { id } = await upload()
    const into = await box()
    await copyFile(sent(), join(into, 'report.pdf'))
    const words = ['transfer', 'receive', id, '--output', join(into, 'report.pdf'), '--profile', 'jon']
    const faults = ['-P', join(into, name), '-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO']
    const broken = await home.run(words, { under: ['strace', '-f', '-qq', '-o', '/dev/null', ...faults] })
    expect(broken).toMatchObject({ stderr: expect.stringContaining('EIO') })
    expect((await show(jon, id)).state).toBe('accepted')
    expect(await home.run(words)).toMatchObject({ code: 0 })
    expect((await show(jon, id)).state).toBe('verified')
  },
)

test('another file is not uploaded in place of the offered one', async () => {
  const { id } = await offeredOnly()
  await writeFile(sent('changed.pdf'), fileOf(70_000, 5))
  const refused = await ines.bridge('transfer', 'send', sent('changed.pdf'), '--resume', id)
  expect(refused).toMatchObject({ code: 15, stdout: '' })
  expect((await show(ines, id)).package?.stored_at).toBeNull()
})

test.each(['../evil', '/etc/passwd', 'a..b', 'a/b', 'a\\b', 'CON', 'x\u001b[2J'])(
  'a name that is no plain file name is refused in an offer, and never used as a path: %j',
  async (filename) => {
    const body = await offerBody({ from: bridge.ada, to: bridge.ben, bytes, fields: { filename } })
    const reply = await bridge.ada.call({ target: '/api/v1/transfers', body })
    expect(told(reply)).toEqual([422, 'manifest_invalid'])
    // If a node does not enforce the rule, the recipient still refuses the name.
    await expect(destinationOf(folder, filename)).rejects.toThrow('not a plain file name')
    expect(await destinationOf(join(folder, 'mine.pdf'), filename)).toBe(join(folder, 'mine.pdf'))
  },
)

test.each([
  [['send', 'none.pdf', '--to', 'jon'], 2, 'none.pdf: it does not exist (ENOENT)'],
  [['send', 'report.pdf'], 2, 'name the peer with --to'],
  [['send', 'report.pdf', '--to', 'nobody'], 3, 'nobody'],
  [['send', 'report.pdf', '--to', 'jon', '--name', '../x'], 2, 'the name must be'],
  [['send', 'report.pdf', '--to', 'jon', '--ttl', '8d'], 2, 'from 1m to 7d'],
  [['send', '.', '--to', 'jon'], 2, 'is not a regular file'],
  [['show', '01980000-0000-7000-8000-000000000003'], 3, 'nothing has that id'],
  [['receive', '01980000-0000-7000-8000-000000000003'], 3, 'nothing has that id'],
  [['list', '--role', 'owner'], 2, 'sender, recipient'],
])(
  'transfer %j is refused with exit %d, and offers nothing',
  async ([word = '', file = '', ...rest], code, words) => {
    const before = await scene.count()
    const path = word === 'send' ? join(folder, file) : file
    const refused = await ines.bridge('transfer', word, path, ...rest)
    expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(words) })
    expect(await scene.count()).toBe(before)
  },
)

test('an agent that is not a party sees nothing of a transfer', async () => {
  const { id } = await upload()
  const eva = await enrolled(bridge, desk, 'eva')
  for (const word of ['show', 'receive', 'accept', 'decline', 'cancel', 'cleanup'])
    expect((await eva.bridge('transfer', word, id)).code).toBe(3)
  expect((await eva.lines<{ transfers: unknown[] }>('transfer', 'list'))[0]?.transfers).toEqual([])
  expect(told(await act(bridge.ada, id, 'accept'))).toEqual([404, 'not_found'])
})
