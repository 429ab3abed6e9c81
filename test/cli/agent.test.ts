/**
 * An agent's daily commands against a real server, with two profiles on one machine. Commands that end run in
 * this process. Commands that wait, are killed or lose their pipe run as separate processes with the same
 * profiles.
 */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exitCodes } from '../../cli/exit-codes.ts'
import type { Message, MessagePage, Session, Unacknowledged } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { untilGone } from '../support/process-groups.ts'
import { type Enrolled, enrolled, storedId } from '../support/profiles.ts'
import { TestHome } from '../support/test-home.ts'

let bridge: TestBridge
let desk: Desk
let home: TestHome
let cleo: Enrolled
let dan: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  home = TestHome.at(desk.folder)
  cleo = await enrolled(bridge, desk, 'cleo')
  dan = await enrolled(bridge, desk, 'dan')
})

afterAll(async () => {
  await home.remove()
  await bridge.close()
})

/** Reads and acknowledges remaining messages, so that a test starts with an empty inbox. */
async function emptyInbox(agent: Enrolled): Promise<void> {
  const [page] = await agent.lines<Unacknowledged>('inbox')
  const ids = page?.messages.map(({ id }) => id) ?? []
  if (ids.length > 0) await agent.bridge('ack', ...ids)
}

test('an enrolled profile shows its identity, and its files are private', async () => {
  const { code, stdout } = await home.run(['whoami', '--profile', 'cleo'])
  expect(code).toBe(0)
  expect(stdout).toContain(`agent cleo (${cleo.id.slice(-8)})`)
  expect(stdout).toContain(`node ${bridge.url}`)
  expect(stdout).toMatch(/key-bound, scopes messages, tasks, transfers/)
  expect((await stat(home.path('cleo'))).mode & 0o777).toBe(0o700)
  for (const file of await readdir(home.path('cleo'), { withFileTypes: true })) {
    const { mode } = await stat(home.path('cleo', file.name))
    expect([file.name, (mode & 0o777).toString(8)]).toEqual([file.name, file.isDirectory() ? '700' : '600'])
  }
})

test('the text is read from standard input, byte for byte except the last newline', async () => {
  const text = 'two\nlines, ünïcode 日本 ‮rtl‬\n\n'
  const { code } = await desk.run(['send', 'dan', '--profile', 'cleo'], { stdin: text })
  expect(code).toBe(0)
  const [received] = await dan.lines<Message>('listen', '--once', '--timeout', '20')
  expect(received?.body).toBe(text.slice(0, -1))
  await dan.bridge('ack', received?.id ?? '')
  expect((await dan.bridge('history', 'cleo', '--limit', '1')).stdout).toContain(
    '| lines, ünïcode 日本 <U+202E>rtl<U+202C>\n',
  )
})

test('a text that exceeds the size of a message is refused before it is stored', async () => {
  const text = 'é'.repeat(32_769)
  const ended = await desk.run(['send', 'dan', '--profile', 'cleo'], { stdin: text })
  expect(ended).toMatchObject({
    code: 2,
    stderr: 'bridge: the text has 65538 bytes; a message may have at most 65536\n',
  })
  expect((await cleo.bridge('outbox', 'list')).stderr).toBe('the outbox is empty\n')
})

test('--require-listening reports that the recipient is not listening, and the message is stored either way', async () => {
  bridge.clock.advance(10)
  const sent = await cleo.bridge('send', 'dan', 'anybody?', '--require-listening')
  expect(sent.code).toBe(10)
  expect(sent.stderr).toMatch(/^bridge: stored, but nobody is listening for it\nhint: bridge status /)
  expect((await cleo.bridge('status', /^stored (\S+) as/.exec(sent.stdout)?.[1] ?? '')).code).toBe(0)

  const listening = home.start(['listen', '--json', '--profile', 'dan'])
  await listening.printed(/anybody\?/)
  const heard = await cleo.bridge('send', 'dan', 'you there', '--require-listening')
  expect(heard).toMatchObject({ code: 0, stdout: expect.stringContaining('recipient: listening now') })
  await listening.printed(/you there/)
  expect((await dan.bridge('schedule', '--every', '5m')).stdout).toBe(
    'every 5 minutes, when it no longer listens\n',
  )
  listening.child.kill('SIGINT')
  expect(await listening.ended).toMatchObject({ code: 130, stderr: '' })
  await emptyInbox(dan)
})

test('peers, conversations and history list the existing ones', async () => {
  const peers = await cleo.bridge('peers')
  expect(peers.stdout).toMatch(/^NAME +ROLE +CONNECTION +ID +DESCRIPTION\n/)
  expect(peers.stdout).toMatch(new RegExp(`\ndan +.* ${dan.id.slice(-8)}\n`))
  const [{ peers: all }] = (await cleo.lines<{ peers: { name: string }[] }>('peers')) as [
    { peers: { name: string }[] },
  ]
  expect(all.map(({ name }) => name).sort()).toEqual(['ada', 'ben', 'dan'])
  expect((await cleo.bridge('conversations')).stdout).toMatch(/^WITH +MESSAGES +ID\ndan +\d+ +\S+\n$/)
  const [page] = await cleo.lines<MessagePage>('history', 'dan', '--after', '0', '--limit', '2')
  expect(page?.messages.map(({ sequence }) => sequence)).toEqual([1, 2])
  const shown = await cleo.bridge('history', 'dan', '--after', '0', '--limit', '2')
  expect(shown.stderr).toBe('more: bridge history --profile cleo dan --after 2\n')
  expect(await cleo.bridge('history', 'ada')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'no messages yet\n',
  })
  expect((await cleo.bridge('send', 'Dan', 'hi')).stderr).toMatch(/name or id Dan; there is dan\n/)
  expect(await cleo.bridge('history', 'nobody')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/name or id nobody; there (is|are) .*dan.*\nhint: bridge peers/),
  })
})

test('an agent that does not listen all the time declares its next check, and others see it', async () => {
  bridge.clock.advance(10)
  const every = await dan.bridge('schedule', '--every', '5m')
  expect(every).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^every 5 minutes, next contact: 2\d{3}-\S+Z\n$/),
  })
  bridge.clock.advance(10)
  expect((await cleo.bridge('peers')).stdout).toMatch(/\ndan .*, next contact in [45] minutes /)
  expect((await dan.bridge('schedule', '--checkpoint')).stdout).toBe(
    'next contact: after current work step\n',
  )
  for (const wrong of [[], ['--every', '5m', '--checkpoint'], ['--every', '4s']]) {
    expect((await dan.bridge('schedule', ...wrong)).code).toBe(2)
  }
  expect((await dan.bridge('guide')).stdout).toContain('bridge listen')
})

test('a question waits for its own answer, and the wait can be resumed', async () => {
  const asked = await cleo.bridge('ask', 'dan', 'which branch?', '--timeout', '1')
  expect(asked.code).toBe(4)
  const id = /hint: bridge ask --profile cleo --resume (\S+) keeps waiting/.exec(asked.stderr)?.[1] ?? ''
  const [question] = await dan.lines<Message>('listen', '--once', '--timeout', '20')
  expect(question).toMatchObject({ type: 'question', expects_reply_by: expect.any(String) })
  expect(question?.id.slice(-8)).toBe(id)

  const waiting = home.start([
    'ask',
    '--resume',
    id,
    '--timeout',
    '20',
    '--profile',
    'cleo',
    '--ack',
    'journal',
  ])
  await dan.bridge('send', 'cleo', 'by the way')
  // A follow-up of the asking agent is no answer.
  await cleo.bridge('reply', id, 'for the release, that is')
  await dan.bridge('reply', id, 'release-2')
  const ended = await waiting.ended
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(ended.stdout).toMatch(/^answer from agent dan \(verified\).*\n.*\nreplies to \S+\n\| release-2\n$/)

  // A message shown here is not shown again, and only this one was acknowledged.
  const [rest] = await cleo.lines<Message>('listen', '--once', '--timeout', '20')
  expect(rest?.body).toBe('by the way')
  await emptyInbox(dan)
  await emptyInbox(cleo)
})

test('listen prints a message once, and a redelivery is only counted', async () => {
  const id = storedId(await cleo.bridge('send', '--json', 'dan', 'once only'))
  expect((await dan.lines<Message>('listen', '--once', '--timeout', '20')).map((each) => each.id)).toEqual([
    id,
  ])
  bridge.clock.advance(61)
  const again = await dan.bridge('listen', '--timeout', '5')
  expect(again).toMatchObject({ code: 4, stdout: '' })
  expect(again.stderr).toMatch(
    /^1 unacknowledged: bridge inbox --profile dan shows them, bridge ack --profile dan acknowledges\nbridge: nothing came within 5 seconds\n$/,
  )
  // The inbox shows it however recently it was offered, and does not affect a waiting listener.
  const inbox = await dan.bridge('inbox')
  expect(inbox.stdout).toContain('| once only')
  expect(inbox.stderr).toBe('1 unacknowledged, 1 shown\n')
  expect(
    (await readFile(home.path('dan', 'journal.jsonl'), 'utf8')).split(`"message":{"id":"${id}`),
  ).toHaveLength(2)
  await dan.bridge('ack', id)
  expect(await dan.bridge('inbox')).toMatchObject({ stdout: '', stderr: 'no unacknowledged messages\n' })
})

test('--ack journal acknowledges messages that were recorded and printed', async () => {
  const id = storedId(await cleo.bridge('send', '--json', 'dan', 'for the record'))
  const heard = await dan.bridge('listen', '--once', '--timeout', '20', '--ack', 'journal')
  expect(heard.stdout).toContain('| for the record')
  expect((await cleo.bridge('status', id)).stdout).toContain('; acknowledged ')
})

test('--exec passes the message to a command, and acknowledges it only if the command exits 0', async () => {
  const id = storedId(await cleo.bridge('send', '--json', 'dan', 'do it'))
  const fails = await dan.bridge('listen', '--once', '--timeout', '20', '--exec', 'exit 3')
  expect(fails).toMatchObject({
    code: 0,
    stderr: `the command exited 3 for ${id}, which will be delivered again\n`,
  })
  expect((await cleo.bridge('status', id)).stdout).toContain('not acknowledged')

  bridge.clock.advance(61)
  // The output of the command goes to the output of the process.
  const works = await home.run('listen --once --timeout 20 --exec cat --profile dan'.split(' '))
  expect(works).toMatchObject({ code: 0, stderr: `handled and acknowledged ${id}\n` })
  expect(JSON.parse(works.stdout)).toMatchObject({ id, body: 'do it' })
  expect((await cleo.bridge('status', id)).stdout).toContain('; acknowledged ')
})

test('a second listen of a profile is refused, or with an option exits quietly', async () => {
  const first = home.start(['listen', '--profile', 'dan', '--json'])
  const id = storedId(await cleo.bridge('send', '--json', 'dan', 'to the first'))
  await first.printed(new RegExp(id))
  expect(await dan.bridge('listen', '--once')).toMatchObject({
    code: 12,
    stderr: 'bridge: the profile dan is already listening\nhint: --ensure turns this into exit 0\n',
  })
  expect(await dan.bridge('listen', '--once', '--ensure')).toMatchObject({ code: 0, stdout: '', stderr: '' })
  expect((await cleo.bridge('listen', '--timeout', '1')).code).toBe(4)
  first.child.kill('SIGKILL')
  await first.ended
  await dan.bridge('ack', id)
  expect((await dan.bridge('listen', '--timeout', '1')).code).toBe(4)
})

test('listen continues after a restart of the node', async () => {
  const listening = home.start(['listen', '--profile', 'dan', '--json', '--ack', 'journal'])
  await cleo.bridge('send', 'dan', 'before')
  await listening.printed(/before/)
  const stopped = bridge.server.stop()
  await listening.said(/the node is unreachable/)
  await stopped
  bridge = await bridge.restart()
  await listening.said(/the node is reachable again/)
  await cleo.bridge('send', 'dan', 'after')
  await listening.printed(/after/)
  listening.child.kill('SIGTERM')
  expect((await listening.ended).code).toBe(130)
})

test('a closed reader ends listen, and unread messages are not acknowledged', async () => {
  const listening = home.start(['listen', '--profile', 'dan', '--ack', 'journal'])
  listening.child.stdout.destroy()
  const id = storedId(await cleo.bridge('send', '--json', 'dan', 'unread'))
  expect(await listening.ended).toMatchObject({ code: 0, stderr: '' })
  expect((await cleo.bridge('status', id)).stdout).toContain('not acknowledged')
  await dan.bridge('ack', id)
})

test('a closed reader does not affect a send or a flush', async () => {
  const unread = async (...args: string[]) => {
    const started = home.start([...args, '--profile', 'cleo'])
    started.child.stdout.destroy()
    return (await started.ended).code
  }
  bridge.clock.advance(10)
  expect(await unread('send', 'dan', 'anybody?', '--require-listening')).toBe(10)

  await bridge.server.stop()
  for (const text of ['unread one', 'unread two', 'unread three']) {
    expect((await cleo.bridge('send', 'dan', text)).code).toBe(9)
  }
  bridge = await bridge.restart()
  expect(await unread('outbox', 'flush')).toBe(0)
  expect((await cleo.bridge('outbox', 'list')).stderr).toBe('the outbox is empty\n')
  await emptyInbox(dan)
})

test('a request that could not reach the node is stored and sent once with the next command', async () => {
  await bridge.server.stop()
  const known = await cleo.bridge('send', 'dan', 'kept one', '--key', 'kept-one-1')
  expect(known.code).toBe(9)
  expect(known.stderr).toMatch(
    /^bridge: no connection to the node at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\nhint: kept in the outbox as \d{13}-\S{8}; the next command sends it/,
  )
  const unknown = await cleo.bridge('send', 'ben', 'kept two')
  expect(unknown.code).toBe(9)
  expect((await cleo.bridge('ack', dan.id)).code).toBe(9)
  const listed = await cleo.bridge('outbox', 'list')
  expect(
    listed.stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ {2,}/).slice(1, 2)),
  ).toEqual([['kept'], ['kept'], ['kept']])
  expect(listed.stdout).toContain('to ben: kept two')
  const [drop] = /\d{13}-\S{8}(?=.*acknowledgements)/.exec(listed.stdout) ?? ['']
  expect((await cleo.bridge('outbox', 'drop', drop)).stdout).toBe(`dropped ${drop}\n`)
  expect((await cleo.bridge('outbox', 'drop', drop)).code).toBe(3)
  expect((await cleo.bridge('outbox', 'flush')).code).toBe(9)

  bridge = await bridge.restart()
  const next = await cleo.bridge('send', 'dan', 'next')
  expect(next.code).toBe(0)
  expect(next.stderr.match(/^sent from the outbox: /gm)).toHaveLength(2)
  expect(await cleo.bridge('outbox', 'list')).toMatchObject({ stdout: '', stderr: 'the outbox is empty\n' })
  expect(await cleo.bridge('outbox', 'flush')).toMatchObject({ code: 0, stderr: 'nothing was due\n' })
  const [page] = await cleo.lines<MessagePage>('history', 'dan', '--limit', '2')
  expect(page?.messages.map(({ body }) => body)).toEqual(['kept one', 'next'])
  const [toBen] = await cleo.lines<MessagePage>('history', 'ben')
  expect(toBen?.messages.map(({ body }) => body)).toEqual(['kept two'])
  await emptyInbox(dan)
})

test('a flush reports refused requests', async () => {
  await bridge.server.stop()
  await cleo.bridge('ack', dan.id)
  bridge = await bridge.restart()
  const flushed = await cleo.bridge('outbox', 'flush')
  expect(flushed).toMatchObject({
    code: 7,
    stdout: expect.stringMatching(
      /^dropped from the outbox, because it was refused: \S+: nothing has that id/,
    ),
  })
  expect((await cleo.bridge('outbox', 'list')).stdout).toBe('')
})

test('all commands of a profile share one session, and closing it ends a listen', async () => {
  const [session] = await dan.lines<{ id: string; generation: number }>('session', 'start')
  expect((await dan.lines<{ id: string }>('session', 'start'))[0]).toMatchObject({
    id: session?.id,
    resumed: true,
  })
  const listening = home.start(['listen', '--profile', 'dan', '--json'])
  const id = storedId(await cleo.bridge('send', '--json', 'dan', 'last words'))
  await listening.printed(/last words/)
  expect((await dan.bridge('session', 'close')).stdout).toBe(`closed session ${session?.id.slice(-8)}\n`)
  expect(await listening.ended).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('this session was closed'),
  })
  expect(await dan.bridge('session', 'close')).toMatchObject({
    code: 0,
    stderr: 'there was no session to close\n',
  })
  expect(await dan.bridge('ack', id)).toMatchObject({ code: 0 })
  expect((await dan.lines<{ generation: number }>('session', 'start'))[0]?.generation).toBe(
    (session?.generation ?? 0) + 1,
  )
})

test('simultaneous commands of a profile neither lose nor duplicate a message', async () => {
  const texts = Array.from({ length: 6 }, () => randomBytes(4).toString('hex'))
  const ended = await Promise.all(texts.map((text) => home.run(['send', 'dan', text, '--profile', 'cleo'])))
  expect(ended.map(({ code }) => code)).toEqual(texts.map(() => 0))
  const [page] = await cleo.lines<MessagePage>('history', 'dan', '--limit', '6')
  expect(page?.messages.map(({ body }) => body).sort()).toEqual([...texts].sort())
  expect(JSON.parse(await readFile(home.path('cleo', 'session.json'), 'utf8'))).toMatchObject({
    session_id: expect.any(String),
  })
  await emptyInbox(dan)
})

test.each([
  ['SIGINT', 130],
  ['SIGKILL', null],
] as const)(
  'a command of --exec ends with listen, also by %s, and its message is not acknowledged',
  async (signal, code) => {
    const id = storedId(await cleo.bridge('send', '--json', 'dan', 'long work'))
    const listening = home.start(['listen', '--profile', 'dan', '--exec', 'echo started $$; sleep 60; true'])
    const leader = Number(/started (\d+)/.exec(await listening.printed(/started \d+\n/))?.[1])
    listening.child.kill(signal)
    expect((await listening.ended).code).toBe(code)
    await untilGone(leader)
    expect((await cleo.bridge('status', id)).stdout).toContain('not acknowledged')
    await dan.bridge('ack', id)
  },
)

test('after a takeover the grant starts the session, returns it once more, and a wrong grant is reported', async () => {
  const eve = await enrolled(bridge, desk, 'eve')
  const [first] = await eve.lines<Session>('session', 'start')
  const { grant } = await bridge.owner.takeover(bridge.project.id, eve.id)
  expect(await eve.bridge('session', 'start')).toMatchObject({ code: exitCodes.session })
  const start = (stdin: string) =>
    desk.run(['session', 'start', '--takeover-grant-stdin', '--json', '--profile', 'eve'], { stdin })
  const wrong = await start('A'.repeat(43))
  expect(wrong.code).toBe(exitCodes.authentication)
  expect(wrong.stderr).toContain('takeover grant is unknown, used, voided or expired')
  expect(wrong.stderr).toContain('bridge admin takeover')
  const started = JSON.parse((await start(grant)).stdout) as Session
  expect(started).toMatchObject({ resumed: false, replaced_session_id: first?.id })
  expect(JSON.parse((await start(grant)).stdout)).toEqual({ ...started, resumed: true })
})
