/**
 * The owner's commands that show activity and state: audit, status, watch, maintenance. Run against a real
 * server.
 */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadWording, snapshotText } from '../../cli/owner/snapshot-text.ts'
import { type ProjectSnapshot, reportHost } from '../../sdk/index.ts'
import { issueOwnerLink } from '../../server/host/init.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { Desk } from '../support/desk.ts'
import { dropDatabase, makeEmptyDatabase } from '../support/postgres.ts'
import { daysAgo, tamper } from '../support/tamper.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  await makeEmptyDatabase(desk.folder)
  const link = await issueOwnerLink(testConfig(bridge.data))
  const { code, stderr } = await desk.run(['admin', 'login', '--url', bridge.url, '--link'], {
    stdin: `${link}\n`,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

afterAll(async () => {
  await dropDatabase(desk.folder)
  await desk.remove()
  await bridge.close()
})

const admin = (...args: string[]) => desk.run(['admin', ...args], { clock: bridge.clock })

/** Stops the clock of the node and the commands, so that every contact is `just now`. */
const held = (during: () => Promise<void>) => async () => {
  const goOn = bridge.clock.hold()
  try {
    await during()
  } finally {
    goOn()
  }
}

interface Record {
  readonly id: string
  readonly at: string
  readonly kind: string
  readonly actor: { readonly id: string; readonly name: string }
}

const audit = (...args: string[]) =>
  desk.json<{ audit: Record[]; has_more: boolean; next_after: string }>(['admin', 'audit', ...args])

/** Starts a command that runs until it is interrupted. */
function started(args: readonly string[], stdout?: PassThrough) {
  const interruption = new AbortController()
  const looking = new Set<() => void>()
  let text = ''
  const onOutput = (all: string) => {
    text = all
    for (const look of [...looking]) look()
  }
  const ended = desk.run(['admin', ...args], { interruption, onOutput, ...(stdout && { stdout }) })
  const shows = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (!pattern.test(text)) return
        looking.delete(look)
        resolve(text)
      }
      looking.add(look)
      void ended.then(({ stderr }) => reject(new Error(`ended before ${pattern}: ${text}${stderr}`)))
      look()
    })
  return { shows, interrupt: () => interruption.abort(), ended }
}

test('the audit is shown oldest first, one line per record, without message texts', async () => {
  await bridge.owner.message(bridge.project.id, bridge.ada.id, 'between the two of us')
  const { stdout } = await admin('audit')
  const lines = stdout.trimEnd().split('\n')
  expect(lines[0]).toMatch(/^\S+Z {2}project\.created {2}by olu {2}project \S+ {2}name=demo$/)
  expect(lines.at(-1)).toMatch(
    /^\S+Z {2}message\.sent {2}by olu {2}message \S+ {2}conversation_id=\S+ {2}sequence=1/,
  )
  expect(stdout).not.toContain('between the two of us')
})

test('the audit can be filtered by agent, kind and time, and paged in both directions', async () => {
  const byAda = await audit('--actor', 'ada')
  expect(byAda.audit.map(({ actor }) => actor.name)).toEqual(byAda.audit.map(() => 'ada'))
  const [only] = (await audit('--actor', 'ada', '--kind', 'session.started', '--since', '1h')).audit
  expect(only).toMatchObject({ kind: 'session.started' })
  expect(await admin('audit', '--until', '1h')).toMatchObject({ code: 0, stdout: '(no records)\n' })
  const newest = await audit('--limit', '2')
  expect(newest.has_more).toBe(true)
  const { stdout } = await admin('audit', '--limit', '2')
  expect(stdout).toContain(`(more: --before ${newest.next_after.slice(-8)})`)
  const before = await audit('--limit', '1', '--before', newest.next_after)
  expect(await audit('--limit', '1', '--after', before.audit[0]?.id ?? '')).toMatchObject({
    audit: [newest.audit[1]],
  })
})

test('--node shows the sign-ins', async () => {
  const { audit: records } = await audit('--node')
  expect(records.map(({ kind }) => kind)).toContain('owner.signed_in')
})

test('an invalid filter is a usage error, and so is an unknown agent', async () => {
  for (const args of [
    ['--kind', 'everything'],
    ['--since', 'yesterday'],
    ['--subject', 'ada'],
    ['--follow', '--until', '1h'],
    ['--node', '--project', 'demo'],
  ])
    expect(await admin('audit', ...args)).toMatchObject({ code: 2, stdout: '' })
  expect(await admin('audit', '--actor', 'zoe')).toMatchObject({ code: 3 })
})

test('an unknown kind is refused with the nearest kinds, before the node is asked', async () => {
  const refused = async (kind: string) => (await admin('audit', '--kind', kind)).stderr
  expect(await refused('session.fence')).toContain('hint: did you mean session.fenced?')
  expect(await refused('everything')).toContain('hint: bridge help audit-kinds lists the kinds')
})

test('--follow prints new records, also after the node was unreachable, until it is interrupted', async () => {
  const following = started(['audit', '--follow', '--limit', '1', '--json'])
  await following.shows(/\n/)
  await bridge.owner.createAgent(bridge.project.id, 'dee')
  await following.shows(/agent\.created/)
  bridge = await bridge.restart()
  await bridge.owner.setProject(bridge.project.id, 'paused')
  await following.shows(/project\.state_changed/)
  following.interrupt()
  const { code, stdout, stderr } = await following.ended
  expect(code).toBe(130)
  const kinds = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => (JSON.parse(line) as Record).kind)
  expect(kinds).toEqual(['agent.created', 'project.state_changed'])
  expect(stderr).not.toContain('bridge:')
  await bridge.owner.setProject(bridge.project.id, 'active')
})

test('a conversation is found by its id or its agent, and by nothing else', async () => {
  const { conversation_id } = await bridge.owner.message(bridge.project.id, bridge.ben.id, 'hello ben')
  for (const wanted of [conversation_id, 'ben', bridge.ben.id])
    expect((await admin('history', wanted)).stdout).toContain('hello ben')
  expect(await admin('history', bridge.project.id)).toMatchObject({ code: 3 })
})

test('maintain runs beside the server, removes old data, and prints how much', async () => {
  const { ada, ben, data } = bridge
  const conversation = await ada.conversationWith(ben.id)
  const { id } = await ada.send(conversation, ben.id, 'long ago')
  await ben.acknowledge(id)
  tamper(data, (database) =>
    database
      .prepare('UPDATE messages SET created_at = @at, acknowledged_at = @at WHERE id = @id')
      .run({ id, at: daysAgo(91) }),
  )
  const maintain = (...args: string[]) => desk.run(['server', 'maintain', '--data', data, ...args])
  expect(await maintain()).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^what +how many\nmessages removed +1\n/),
  })
  expect((await admin('history', conversation)).stdout).toBe('(removed by retention: up to number 1)\n')
  expect(JSON.parse((await maintain('--json')).stdout)).toMatchObject({ skipped_for_jump_seconds: null })
  tamper(data, (database) => database.prepare('UPDATE maintenance SET looked_at = ?').run(daysAgo(3)))
  expect(await maintain()).toMatchObject({
    code: 0,
    stdout: 'nothing removed: by this clock the node was last seen 3 days ago\n',
    stderr: 'hint: if the clock is right, run it again\n',
  })
  expect(await desk.run(['server', 'maintain', '--data', desk.folder])).toMatchObject({ code: 3, stdout: '' })
})

test(
  'status shows the entries that need attention, the connected agents, and waiting mail',
  held(async () => {
    const { owner, project, ada } = bridge
    await owner.setProject(project.id, 'active')
    const conversation = await ada.conversationWith(ada.id)
    const body = {
      conversation_id: conversation,
      recipient_agent_id: ada.id,
      type: 'question',
      body: 'may I push?',
    }
    const { message } = await ada.ok<{ message: { id: string } }>({ target: '/api/v1/messages', body })
    const { code, stdout, stderr } = await admin('status')
    const page = `on the owner's page: ${bridge.url}/projects/${project.id}\n`
    expect({ code, stderr }).toEqual({ code: 0, stderr: page })
    const lines = stdout.split('\n')
    expect(lines[0]).toBe('demo, active, observed just now')
    expect(lines[1]).toMatch(
      /^3 agents, \d connected, 0 listening now, 0 overdue, \d+ messages unacknowledged, 1 to you, 0 tasks open, 0 held$/,
    )
    expect(stdout).toContain(`  A question to the owner: ada, message ${message.id.slice(-8)}, just now\n`)
    expect(stdout).toMatch(
      /\nagent +state +Connected +Listening now +Last contact +Next contact +waiting\nada +enabled +yes +no +just now +unknown +\d\n/,
    )
    expect(stdout).not.toContain('may I push?')
    expect(await desk.json(['admin', 'status'])).toMatchObject({
      project: { name: 'demo' },
      counts: { to_owner: 1 },
    })
    await owner.ok({
      target: `/api/admin/projects/${project.id}/acknowledgements`,
      body: { message_ids: [message.id] },
    })
  }),
)

test('watch without a terminal prints one line per change, also after the node was unreachable', async () => {
  await bridge.ada.inbox()
  const watching = started(['watch'])
  await watching.shows(/agent {2}ada {2}Connected\n/)
  await bridge.owner.createAgent(bridge.project.id, 'eve')
  await watching.shows(/agent\.created {2}by olu .* name=eve\n.*agent {2}eve {2}not connected\n/)
  bridge = await bridge.restart()
  await bridge.owner.setAgent(bridge.project.id, bridge.ben.id, 'disabled')
  await watching.shows(/agent {2}ben {2}disabled\n/)
  watching.interrupt()
  expect(await watching.ended).toMatchObject({ code: 130, stderr: expect.not.stringContaining('bridge:') })
  await bridge.owner.setAgent(bridge.project.id, bridge.ben.id, 'enabled')
})

test('watch --json prints one snapshot per line when something has changed', async () => {
  const watching = started(['watch', '--json'])
  await watching.shows(/\n/)
  await bridge.owner.setProject(bridge.project.id, 'paused')
  await watching.shows(/"state":"paused"/)
  watching.interrupt()
  const { code, stdout } = await watching.ended
  expect(code).toBe(130)
  const states = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).project.state)
  expect([...new Set(states)]).toEqual(['active', 'paused'])
  await bridge.owner.setProject(bridge.project.id, 'active')
})

test('watch on a terminal redraws one screen that fits the terminal', async () => {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, rows: 12, columns: 60 })
  const watching = started(['watch'], stdout)
  await watching.shows(/demo, active/)
  await bridge.owner.setProject(bridge.project.id, 'paused')
  const text = await watching.shows(/demo, paused/)
  watching.interrupt()
  expect((await watching.ended).code).toBe(130)
  const frames = text.split('\u001b[H').slice(1)
  expect(frames.length).toBeGreaterThan(1)
  for (const frame of frames.slice(0, -1)) {
    const lines = frame.replaceAll('\u001b[K', '').replace('\u001b[J', '').trimEnd().split('\n')
    expect(lines.length).toBeLessThan(12)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(60)
  }
  await bridge.owner.setProject(bridge.project.id, 'active')
})

test('status observed too long ago is shown as Unavailable', async () => {
  const soon = bridge.clock()
  const snapshot = await desk.json<ProjectSnapshot>(['admin', 'status'])
  const wording = await loadWording()
  const after = (seconds: number) =>
    snapshotText(snapshot, wording, new Date(Date.parse(snapshot.observed_at) + seconds * 1000))
  expect(after(30)).not.toContain('Unavailable')
  expect(after(31)).toMatch(/\nada +enabled +Unavailable +Unavailable +Unavailable +Unavailable +\d/)
  expect(Date.parse(snapshot.observed_at)).toBeGreaterThanOrEqual(soon.getTime() - 5000)
})

test(
  'an agent whose only credential was revoked is not connected and needs attention',
  held(async () => {
    const faye = await bridge.agent('faye')
    expect((await admin('status')).stdout).toMatch(/\nfaye +enabled +yes +no +just now +unknown +0\n/)
    await bridge.owner.revoke(bridge.project.id, faye.enrolled.credential_id)
    const { stdout } = await admin('status')
    expect(stdout).toMatch(/\nfaye +enabled +no +no +just now +unknown +0\n/)
    expect(stdout).toContain('  An agent has no credential left: faye, just now\n')
    expect((await admin('agent', 'list')).stdout).toMatch(/^faye +enabled +last contact just now +/m)
  }),
)

test('watching an unknown project is refused', async () => {
  expect(await admin('watch', '--project', 'nowhere')).toMatchObject({ code: 3, stdout: '' })
  expect(await admin('status', '--project', 'nowhere')).toMatchObject({ code: 3, stdout: '' })
})

test('a telemetry token is printed once, and the load of hosts is shown', async () => {
  const { code, stdout, stderr } = await desk.run(['server', 'telemetry-token', '--data', bridge.data])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const token = stdout.trim()
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
  const sample = {
    ...{ host: 'mill', cpu_percent: 40 },
    ...{ memory_used_bytes: 2 ** 30, memory_total_bytes: 2 ** 32 },
  }
  const sampled_at = bridge.clock().toISOString()
  await reportHost({ baseUrl: bridge.url, token, sample: { ...sample, sampled_at } })
  const shown = await admin('telemetry')
  expect(shown.stdout).toMatch(/^host +processors +memory +sampled\n/)
  expect(shown.stdout).toMatch(/\nmill +40 % +1\.0 of 4\.0 GiB +(just now|\d+ seconds? ago)\n/)
  expect(shown.stdout).not.toContain(token)
  expect(shown.stdout).toMatch(/\n\ndisk: .* GiB are free, the database has 0\.0; there is no reserve\n/)
  const storage = { state: 'open', reserve_bytes: 0 }
  expect(await desk.json(['admin', 'telemetry'])).toMatchObject({ hosts: expect.any(Array), storage })
})
