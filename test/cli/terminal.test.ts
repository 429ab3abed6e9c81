/**
 * Output on a real terminal: text of a peer cannot move the cursor, change the text direction or imitate a
 * line of the program. Without a terminal there is no prompt and no colour.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exportPrivateKey } from '../../sdk/index.ts'
import { profileFiles } from '../../sdk/profile/profile-files.ts'
import { benId, keys, message, record, startedSession, talkId } from '../support/bridges.ts'
import { type Answer, answerJson, type FakeNode, refuse, startNode } from '../support/fake-node.ts'
import { TestHome } from '../support/test-home.ts'
import { inTerminal } from './terminal.ts'

/**
 * A title, a cleared screen, C1 controls, reversed text, line ends of every kind, a line that imitates the
 * program, and invisible characters.
 */
const evil =
  'x\u001b]0;owned\u0007\u001b[2J\u009b31m\u202egnp\u2066\u2028y\r\nhint: run this\u0085\u0000\u007fz\u200b\u2064\u3164\u{e0100}'

/** Replaces every text in the value with the hostile one, except those with a fixed form. */
function hostile(value: unknown): unknown {
  if (typeof value === 'string') {
    return /^[0-9a-f-]{36}$|^\d{4}-.*Z$/.test(value) ? value : `${value}${evil}`
  }
  if (Array.isArray(value)) return value.map(hostile)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hostile(inner)]))
}

const at = '2026-01-01T00:00:00.000Z'
const nowhere = { kind: 'unknown', expected_at: null, overdue: false }
const connection = { connected: false, listening_now: false, last_contact_at: null, next_contact: nowhere }
const { agent, project } = record
const participants = [{ kind: 'agent', agent_id: benId, name: 'ben' }]
const conversation = {
  id: record.server_id,
  project_id: project.id,
  participants,
  created_at: at,
  last_sequence: 1,
  kind: 'peer',
}
const page = { has_more: false, next_after: null }
const question = message(1, { type: 'question', body: `two\n${evil}`, expects_reply_by: at })

const answers: readonly [RegExp, unknown][] = [
  [/\/inbox/, { ...page, messages: [question], waiting: 1 }],
  [
    /\/peers/,
    {
      ...page,
      peers: [
        {
          ...agent,
          id: benId,
          conversation_id: talkId,
          description: 'd',
          role: '',
          prompt_template: '',
          connection,
        },
      ],
    },
  ],
  [/\/messages/, { messages: [question], has_more: false, next_sequence: 1 }],
  [/\/conversations\?/, { ...page, conversations: [conversation] }],
  [/\/conversations/, conversation],
  [
    /\/bootstrap/,
    {
      ...{
        server_id: record.server_id,
        server_time: at,
        agent,
        project,
        instructions: 'do',
        owner_conversation_id: null,
        capabilities: {},
        policy: {},
        limits: {},
      },
      credential: { id: record.credential_id, binding: 'key', scopes: ['messages'] },
    },
  ],
]

const answer: Answer = ({ url }, _nth, response) => {
  const found = answers.find(([path]) => path.test(url))?.[1]
  if (found === undefined) refuse(response, 404, 'not_found', { message: `No.${evil}` })
  else answerJson(response, 200, hostile(found))
}

let home: string
let node: FakeNode
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'bridge-terminal-'))
  node = await startNode(answer)
  const files = profileFiles(home, 'ada')
  await mkdir(files.folder, { recursive: true, mode: 0o700 })
  const identity = hostile(record) as typeof record
  const profile = { base_url: node.url, allow_plain_http: false, code_sha256: '', device: null }
  const instance_id = startedSession.instance_id
  const stored = { ...profile, instance_id, identity: { ...identity, binding: 'key' } }
  await writeFile(files.record, JSON.stringify(stored))
  await writeFile(files.key(record.credential_id), exportPrivateKey(keys.privateKey), { mode: 0o600 })
  await writeFile(files.session, JSON.stringify(startedSession))
})
afterEach(async () => {
  await node.close()
  await rm(home, { recursive: true, force: true })
})

const commands = [
  'listen --once --timeout 20',
  'inbox',
  `history ${benId}`,
  'peers',
  'conversations',
  'status',
  'whoami',
  'guide',
  'schedule --every 5m',
]

test('text of a peer or a node is only ever shown as text on its own line', async () => {
  const line = commands.map((command) => `echo "== ${command}"; bridge ${command} --profile ada`).join('\n')
  const terminal = inTerminal(line, home)
  await terminal.ended
  const sent = terminal.sent()
  for (const part of sent.split('== ').slice(1)) {
    const [command] = part.split('\r\n')
    // Line ends are the only control characters in the output; the terminal turns each into these two.
    expect([command, part.match(/[^\n\r\t -~\u00a0-\u{10ffff}]/gu)]).toEqual([command, null])
    expect([command, part.match(/[\u202a-\u202e\u2028\u2029\u2066-\u2069\u0080-\u009f]/gu)]).toEqual([
      command,
      null,
    ])
    expect([command, part.match(/\p{Default_Ignorable_Code_Point}/gu)]).toEqual([command, null])
    expect([command, part.includes('z<U+200B><U+2064><U+3164><U+E0100>')]).toEqual([command, true])
    expect([command, part.match(/\r(?!\n)/g)]).toEqual([command, null])
    expect([command, part.includes('<U+001B>]0;owned<U+0007>')]).toEqual([command, true])
    expect([command, part.match(/^hint: run this/gm)]).toEqual([command, null])
  }
  expect(sent.split('== ')).toHaveLength(commands.length + 1)
})

const code = 'a-code-that-nobody-issued-0123'

test('a prompt pasted on a terminal is read to its end, without echo, and names the node and the profile', async () => {
  const terminal = inTerminal('bridge enroll', home)
  await terminal.shows('enrolment code, or the whole prompt: ')
  const lines = ['You are the agent.', '', `agent-bridge enroll --url ${node.url} --profile new <<'CODE'`]
  const end = `enroll_${code}\rCODE\r\r3. echo this line is not for a shell\r`
  terminal.type(`${lines.join('\r')}\r${end}`)
  expect(await terminal.ended).toBe(3)
  expect(terminal.sent()).toMatch(/^enrolment code, or the whole prompt: \r\nbridge: no\./)
  for (const secret of [code, 'not for a shell']) expect(terminal.sent()).not.toContain(secret)
})

test('pasted lines without a code get one remark, and control-D ends them', async () => {
  const terminal = inTerminal('bridge enroll', home)
  await terminal.shows('enrolment code, or the whole prompt: ')
  terminal.type('You are the agent.\r\rYour node is here.\r')
  await terminal.shows('no enrolment code yet: paste the rest, or press control-D to end: ')
  terminal.type('more\r\u0004')
  expect(await terminal.ended).toBe(2)
  expect(terminal.sent().match(/no enrolment code yet/g)).toHaveLength(1)
  expect(terminal.sent()).toContain('bridge: no enrolment code on standard input')
})

test('a secret is prompted for on a terminal without echo, and without a terminal there is no prompt', async () => {
  const enroll = `enroll --url ${node.url} --profile new`
  const terminal = inTerminal(`bridge ${enroll}`, home)
  await terminal.shows('enrolment code, or the whole prompt: ')
  terminal.type(`${code}\r`)
  expect(await terminal.ended).toBe(3)
  expect(terminal.sent()).toMatch(/^enrolment code, or the whole prompt: \r\nbridge: no\./)
  expect(terminal.sent()).not.toContain(code)

  const processes = TestHome.at(home)
  const piped = await processes.run(enroll.split(' '), { stdin: `${code}\n` })
  expect(piped).toMatchObject({ code: 3, stdout: '', stderr: expect.stringMatching(/^bridge: no\./) })
})
