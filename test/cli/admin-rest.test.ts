/** The owner's commands that act on many at once, or write a file. Run against a real server. */
import { randomBytes } from 'node:crypto'
import { PassThrough, Writable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createContext } from '../../cli/create-context.ts'
import { type AuditFile, writeAuditFile } from '../../cli/owner/audit-file.ts'
import type { Administrator, AuditRecord, OwnerSession } from '../../sdk/index.ts'
import { issueOwnerLink } from '../../server/host/init.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { Desk, type DeskOptions } from '../support/desk.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  const link = await issueOwnerLink(testConfig(bridge.data))
  await desk.run(['admin', 'login', '--url', bridge.url, '--link'], { stdin: `${link}\n` })
})

afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

const admin = (args: readonly string[], options: DeskOptions = {}) => desk.run(['admin', ...args], options)

const records = (text: string): AuditRecord[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('the audit is exported page by page, newest first, with its filters', async () => {
  for (let at = 0; at < 120; at += 1) await bridge.owner.message(bridge.project.id, bridge.ada.id, `n ${at}`)
  const { code, stdout, stderr } = await admin(['audit', '--export', 'jsonl', '--kind', 'message.sent'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'exported 120 records\n' })
  const target = `/api/admin/projects/${bridge.project.id}/audit?kind=message.sent&order=newest_first&limit=100`
  const { audit } = await bridge.owner.ok<{ audit: AuditRecord[] }>({ target })
  expect(records(stdout).slice(0, 100)).toEqual(audit)
  expect(new Set(records(stdout).map(({ id }) => id)).size).toBe(120)
  const rest = await admin([
    'audit',
    '--export',
    'jsonl',
    '--kind',
    'message.sent',
    '--before',
    audit[99]?.id ?? '',
  ])
  expect(rest.stdout).toBe(stdout.split('\n').slice(100).join('\n'))
  expect((await admin(['audit', '--export', 'jsonl', '--node'])).stdout).toContain('owner.signed_in')
})

test('an exported CSV file has the columns of the page, and no cell is a formula', async () => {
  await bridge.owner.createAgent(bridge.project.id, 'eve')
  const { stdout } = await admin(['audit', '--export', 'csv', '--kind', 'agent.created'])
  const lines = stdout.split('\r\n')
  expect(lines[0]).toBe(
    'at,kind,actor_kind,actor_name,actor_id,subject_type,subject_id,project_id,request_id,id,details',
  )
  expect(lines).toHaveLength(5)
  expect(stdout).toContain(',"{""name"":""eve""')
  const none = await admin(['audit', '--export', 'csv', '--until', '2000-01-01'])
  expect(none).toMatchObject({ code: 0, stdout: `${lines[0]}\r\n`, stderr: 'exported 0 records\n' })
})

test('an export whose reader is gone ends quietly and reads no further page', async () => {
  const gone = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('closed'), { code: 'EPIPE' })),
  })
  const { code, stderr } = await admin(['audit', '--export', 'jsonl'], { stdout: gone })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

/** Runs the export on these pages instead of a node's. */
async function exportOf(file: Omit<AuditFile, 'goOn'>) {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const context = createContext({
    streams: { stdin: new PassThrough(), stdout, stderr },
    environment: {},
    clock: () => new Date(0),
    random: randomBytes,
    homeDirectory: '/dev/null',
    interruption: new AbortController(),
  })
  let text = ''
  stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  await writeAuditFile(context, { ...file, goOn: '--after' })
  return { stdout: text, stderr: String(stderr.read()) }
}

test('an export that reaches its limit names the option that reads on', async () => {
  const audit = Array.from({ length: 100 }, (_, at) => ({ id: `r${at}` }) as AuditRecord)
  let reads = 0
  const read = async () => {
    reads += 1
    return { audit, has_more: true, next_after: `${reads}` }
  }
  const { stdout, stderr } = await exportOf({ format: 'jsonl', read, most: 250 })
  expect(stderr).toBe(
    'exported 250 records\nthere are more; the same command with --after r49 exports the following ones\n',
  )
  expect(records(stdout)).toHaveLength(250)
  expect(reads).toBe(3)
})

test('a cell that a spreadsheet would run as a formula is exported with an apostrophe before it', async () => {
  const actor = { kind: 'administrator', name: '=HYPERLINK("x")', id: '@1' }
  const record = { at: '+1', kind: '-2', actor, subject: { type: '\tx', id: '\ry' }, details: {} }
  const audit = [record as unknown as AuditRecord]
  const read = async () => ({ audit, has_more: false, next_after: null })
  const { stdout } = await exportOf({ format: 'csv', read })
  const row = stdout.slice(stdout.indexOf('\r\n') + 2)
  expect(row).toBe(`'+1,'-2,administrator,"'=HYPERLINK(""x"")",'@1,'\tx,"'\ry",,,,{}\r\n`)
})

test('a broadcast reaches every enabled agent once, with a receipt for each, also if it is repeated', async () => {
  await bridge.owner.setAgent(bridge.project.id, bridge.ben.id, 'disabled')
  const once = () => admin(['broadcast', 'stop all pushes', '--key', 'key-of-the-day'])
  const first = await once()
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/^ada: stored \S+ as number \d+\n/)
  expect(first.stdout).toMatch(/^eve: stored \S+ as number 1$/m)
  expect(first.stdout).not.toContain('ben')
  expect((await once()).stdout).toBe(first.stdout)
  await bridge.owner.setAgent(bridge.project.id, bridge.ben.id, 'enabled')
  const again = records(
    (await admin(['broadcast', 'stop all pushes', '--key', 'key-of-the-day', '--json'])).stdout,
  )
  expect(again).toHaveLength(first.stdout.trimEnd().split('\n').length + 1)
})

test('a broadcast shows each refusal, exits with its code, and names the key for a safe retry', async () => {
  await admin(['broadcast', 'one', '--key', 'key-used-before'])
  const { code, stdout, stderr } = await admin(['broadcast', 'two', '--key', 'key-used-before'])
  expect(code).toBe(7)
  expect(stdout).toMatch(/^ada: failed: .*\n.*eve: failed: /s)
  expect(stderr).toMatch(
    /^bridge: (\d) of \1 agents have no receipt\nhint: .* --key key-used-before sends only/,
  )
  expect(await admin(['broadcast', ''])).toMatchObject({ code: 2, stdout: '' })
  expect(await admin(['broadcast', 'x', '--project', 'nowhere'])).toMatchObject({ code: 3, stdout: '' })
})

test('ack --all acknowledges the messages that were printed, and no other', async () => {
  const conversation = await bridge.ada.conversationWith(bridge.ada.id)
  await bridge.ada.send(conversation, bridge.ada.id, 'first')
  await bridge.ada.send(conversation, bridge.ada.id, 'second')
  expect(await admin(['ack', '--all'])).toMatchObject({
    code: 0,
    stdout: 'acknowledged 0\n',
    stderr: '2 not printed yet: bridge admin inbox shows them\n',
  })
  await admin(['inbox'])
  await bridge.ada.send(conversation, bridge.ada.id, 'third')
  const { stdout, stderr } = await admin(['ack', '--all'])
  expect(stdout).toBe('acknowledged 2\n')
  expect(stderr).toContain('1 not printed yet')
  const { stdout: left } = await admin(['inbox'])
  expect(left).toContain('third')
  expect(left).not.toContain('second')
})

test('instructions are saved only over the version that --if-updated-at names', async () => {
  const save = (version: string, text: string) =>
    admin(['agent', 'instructions', 'ada', '--file', '-', '--if-updated-at', version, '--json'], {
      stdin: text,
    })
  const { updated_at: first } = JSON.parse((await save('none', 'be brief')).stdout)
  const refused = await save('none', 'be long')
  expect(refused).toMatchObject({ code: 7, stdout: '' })
  bridge.clock.advance(5)
  const { updated_at: second } = JSON.parse((await save(first, 'be kind')).stdout)
  expect(second).not.toBe(first)
  expect(await save(first, 'be late')).toMatchObject({ code: 7, stdout: '' })
  expect((await admin(['agent', 'instructions', 'ada'])).stdout).toContain('be kind')
})

test('the audit can be filtered by a person, by name or by the end of the id', async () => {
  await admin(['administrator', 'create', 'kim'])
  const { administrators } = await desk.json<{ administrators: Administrator[] }>([
    'admin',
    'administrator',
    'list',
  ])
  const [{ id: kim } = { id: '' }] = administrators
  const { user } = await desk.json<OwnerSession>(['admin', 'whoami'])
  const people = { [user.id]: ['olu', user.id.slice(-6)], [kim]: ['kim', kim.slice(-8), kim] }
  for (const [id, names] of Object.entries(people))
    for (const name of names) {
      const { stderr } = await admin(['audit', '--actor', name])
      expect([name, new URL(stderr.trim().split(' ').at(-1) ?? '').searchParams.get('actor')]).toEqual([
        name,
        id,
      ])
      const { stdout } = await admin(['audit', '--node', '--actor', name])
      expect([name, / by (?!olu)/.test(stdout), / by olu /.test(stdout)]).toEqual([
        name,
        false,
        id === user.id,
      ])
    }
  // The person that a record is about is shown by the end of its id, too.
  const { stdout } = await admin(['audit', '--node', '--kind', 'administrator.created'])
  expect(stdout).toContain(` owner_user ${kim.slice(-8)}`)
  expect((await admin(['audit', '--node', '--subject', kim.slice(-8)])).stdout).toBe(stdout)
})

test('a name that an agent and a person share is ambiguous, and an unknown one is refused', async () => {
  const { id } = await bridge.owner.createAgent(bridge.project.id, 'lou')
  await admin(['administrator', 'create', 'lou'])
  expect(await admin(['audit', '--actor', 'lou'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      `^bridge: more than one actor has the name lou: agent ${id.slice(-8)}, administrator [0-9a-f]{8}\nhint: `,
    ),
  })
  expect(await admin(['audit', '--node', '--actor', 'lou'])).toMatchObject({ code: 0 })
  for (const more of [[], ['--node']])
    expect(await admin(['audit', '--actor', 'zoe', ...more])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('zoe'),
    })
})
