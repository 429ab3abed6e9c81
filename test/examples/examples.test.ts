/**
 * Every example does what its header states, run like a user does: with a real node and the installed
 * package.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Bridge, openProfile } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { codeOf, ownerName, ownerPassword } from '../support/owner.ts'
import { enrolled } from '../support/profiles.ts'
import { Machine } from './machine.ts'

let node: TestBridge
let desk: Desk
let machine: Machine
/** The agent that asks questions and creates tasks. */
let gina: Bridge

beforeAll(async () => {
  node = await startBridge()
  desk = await Desk.make()
  for (const name of ['gina', 'hugo', 'rita']) await enrolled(node, desk, name)
  machine = new Machine(desk.folder)
  gina = await openProfile('gina', { home: desk.home })
})

afterAll(async () => {
  await machine.close()
  await gina.close()
  await desk.remove()
  await node.close()
})

const files = 'How many files?'

const answerTo = async (peer: string, body: string): Promise<string> =>
  (await gina.ask(peer, body, { timeout: 120_000 })).body

test('the script prints the answer of the shell agent, which acknowledges the question', async () => {
  const listening = machine.start('shell-agent', ['bridge', 'listen', '--exec', 'sh answer.sh'], {
    profile: 'hugo',
  })
  const asked = await machine.run('script', ['node', 'ask.mjs', 'hugo', files, '120'], { profile: 'gina' })
  expect(asked).toMatchObject({ code: 0, stdout: '1 files\n' })
  const [, id = ''] = /^asked hugo as (\S+)$/m.exec(asked.stderr) ?? []
  await listening.said(new RegExp(`handled and acknowledged ${id.slice(-8)}`))

  // A body is data: the shell quotes it and runs no part of it.
  expect(await answerTo('hugo', '$(touch pwned); `touch pwned`')).toMatch(/^I know two questions/)
  expect(existsSync(machine.path('shell-agent/pwned'))).toBe(false)
  // The agent took the second question after it finished the first.
  expect((await gina.messages.get(id)).delivery.acknowledged_at).not.toBeNull()
  listening.child.kill('SIGTERM')
  await listening.ended
})

test('the script reports an unknown peer, and an answer that does not arrive', async () => {
  const ask = (...args: string[]) => machine.run('script', ['node', 'ask.mjs', ...args], { profile: 'gina' })
  const [unknown, late, wrong] = await Promise.all([ask('zoe', files), ask('ada', files, '0.2'), ask('hugo')])
  expect(unknown).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^peer_unknown: /) })
  expect(late).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('no answer yet') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/^usage: /) })
})

test('the shell agent answers a repeated question once, and fails while it cannot answer', async () => {
  const { message } = await gina.messages.sendTo('hugo', { type: 'question', body: files })
  const handed = { stdin: JSON.stringify(message) }
  const answer = (profile: string) => machine.run('shell-agent', ['sh', 'answer.sh'], { profile, ...handed })
  expect(await answer('hugo')).toMatchObject({ code: 0 })
  writeFileSync(machine.path('shell-agent/another.txt'), '')
  expect(await answer('hugo')).toMatchObject({ code: 0 })
  rmSync(machine.path('shell-agent/another.txt'))
  const { messages } = await gina.inbox.list()
  expect(messages.filter(({ in_reply_to }) => in_reply_to === message.id)).toMatchObject([
    { body: '1 files' },
  ])

  const refused = await answer('stranger')
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('no identity')
})

const diff = [
  'diff --git a/cart.js b/cart.js',
  '--- a/cart.js',
  '+++ b/cart.js',
  '@@ -1,2 +1,4 @@',
  ' const a = 1',
  '-old  ',
  '+++counter',
  '+  debugger',
  '+fine ',
  '',
].join('\n')
const findings =
  'findings: 2 in 3 lines\ncart.js:3: a debugger statement is left\ncart.js:4: white space at the end'

test('the reviewer answers questions, completes tasks with evidence, and fails tasks that cannot be reviewed', async () => {
  const reviewer = machine.start('reviewer', ['node', 'reviewer.mjs'], { profile: 'rita' })
  await reviewer.printed(/^rita is listening$/m)
  expect(await answerTo('rita', `review\n${diff}`)).toBe(findings)
  expect(await answerTo('rita', 'review\nconst fine = 1\n')).toBe('nothing to object to in 1 line')
  const note = { type: 'note', body: 'Nobody has read this.' } as const
  const { message: unread } = await gina.messages.sendTo('rita', note)
  expect(await answerTo('rita', 'How are you?')).toMatch(/^I review: /)
  const ofUnread = async () => (await gina.messages.get(unread.id)).delivery
  await expect.poll(async () => (await ofUnread()).first_offered_at).not.toBeNull()
  expect((await ofUnread()).acknowledged_at).toBeNull()

  const assignee = (await gina.directory.address('rita')).recipient_agent_id
  const give = (title: string, instructions: string) =>
    gina.tasks.create({ assignee_agent_id: assignee, title, instructions })
  const given = await give('Review the change', diff)
  await reviewer.printed(/^completed: Review the change$/m)
  expect(await gina.tasks.get(given.id)).toMatchObject({
    state: 'completed',
    outcome: {
      result: 'findings: 2 in 3 lines',
      evidence: [
        { kind: 'text', value: findings },
        { kind: 'text', value: createHash('sha256').update(diff).digest('hex') },
      ],
    },
  })
  const long = await give('Review a long file', 'debugger\n'.repeat(1_000))
  await reviewer.printed(/^completed: Review a long file$/m)
  const { outcome } = await gina.tasks.get(long.id)
  expect(outcome?.result).toBe('findings: 1000 in 1000 lines')
  expect(outcome?.evidence[0]?.value).toMatch(/^line 9: a debugger statement is left$[\s\S]*^…$/m)
  const empty = await give('Review nothing', '@@ -1 +0,0 @@\n-gone\n')
  await reviewer.printed(/^failed: Review nothing$/m)
  expect(await gina.tasks.get(empty.id)).toMatchObject({
    state: 'failed',
    outcome: { result: 'the instructions add no line that could be reviewed' },
  })
  reviewer.child.kill('SIGTERM')
  expect(await reviewer.ended).toMatchObject({ code: 0, stderr: '' })
})

test('the reviewer exits with the reason when its credential is revoked', async () => {
  const { id } = await enrolled(node, desk, 'rob')
  const reviewer = machine.start('reviewer', ['node', 'reviewer.mjs'], { profile: 'rob' })
  await reviewer.printed(/^rob is listening$/m)
  const target = `/api/admin/projects/${node.project.id}/credentials?agent_id=${id}`
  const { credentials } = await node.owner.ok<{ credentials: { id: string }[] }>({ target })
  await node.owner.revoke(node.project.id, credentials[0]?.id ?? '')
  const ended = await reviewer.ended
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('credential_revoked')
})

const provision = (team: string, password = ownerPassword) =>
  machine.run('provision', ['node', 'provision.mjs', node.url, ownerName, team, 'prompts'], {
    stdin: `${password}\n`,
  })

const allProjects = async () =>
  (
    await node.owner.ok<{ projects: { id: string; name: string; description: string }[] }>({
      target: '/api/admin',
    })
  ).projects
const projects = async () => (await allProjects()).map(({ name }) => name)

test('provisioning refuses an invalid file and a wrong password, and changes nothing', async () => {
  const team = { project: { name: 'shop' }, agents: [{ name: 'ada' }], pairings: [['ada', 'zoe']] }
  writeFileSync(machine.path('provision/wrong.json'), JSON.stringify(team))
  const [stranger, locked] = await Promise.all([
    provision('wrong.json'),
    provision('team.json', 'a wrong one'),
  ])
  expect(stranger).toMatchObject({
    code: 2,
    stderr: 'wrong.json: "pairings" names "zoe", which is not in "agents"\n',
  })
  expect(locked).toMatchObject({ code: 1, stderr: expect.stringContaining('sign_in_failed') })
  expect(await projects()).toEqual(['demo'])
})

test('provisioning creates everything in the file, and a second run creates only missing objects', async () => {
  const first = await provision('team.json')
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout.replaceAll(/, works once.*/g, '').split('\n')).toEqual([
    'created the project shop',
    'created the agent ada',
    'instructed ada',
    'created the agent rita',
    'instructed rita',
    'created the agent ben',
    'paired ada and rita',
    'paired ada and ben',
    'kept apart rita and ben',
    'enrolment of ada: prompts/ada.txt',
    'enrolment of rita: prompts/rita.txt',
    'enrolment of ben: prompts/ben.txt',
    '',
  ])
  expect(first.stdout + first.stderr).not.toContain('CODE')
  const path = (name: string) => machine.path('provision/prompts', `${name}.txt`)
  expect(statSync(path('ada')).mode & 0o777).toBe(0o600)
  for (const name of ['rita', 'ben']) {
    const stdin = `${codeOf(readFileSync(path(name), 'utf8'))}\n`
    const made = await desk.run(['enroll', '--url', node.url, '--profile', `shop-${name}`], { stdin })
    expect(made.code, made.stderr).toBe(0)
  }
  // Ada's prompt is still unused and stays valid, the other agents are enrolled: no agent gets another
  // prompt.
  expect(await provision('team.json')).toMatchObject({ code: 0, stdout: 'nothing to change\n' })
  expect(readFileSync(path('ada'), 'utf8')).toMatch(/<<'CODE'/)
  const peers = await desk.json<unknown>(['peers', '--profile', 'shop-rita'])
  expect(JSON.stringify(peers)).toContain('"ada"')
  expect(JSON.stringify(peers)).not.toContain('"ben"')

  const team = JSON.parse(readFileSync(machine.path('provision/team.json'), 'utf8'))
  writeFileSync(
    machine.path('provision/grown.json'),
    JSON.stringify({ ...team, pairings: [['ben', 'rita']] }),
  )
  expect(await provision('grown.json')).toMatchObject({
    code: 0,
    stdout: 'kept apart ada and rita\nkept apart ada and ben\npaired rita and ben\n',
  })
  expect(await projects()).toEqual(['demo', 'shop'])

  const [ada, rita, ben] = team.agents
  const changed = {
    project: { name: 'shop', description: 'The shop alone.' },
    agents: [{ ...ada, role: undefined }, rita, { ...ben, role: 'auditor', description: 'Reads the logs.' }],
    pairings: [['ben', 'rita']],
  }
  writeFileSync(machine.path('provision/changed.json'), JSON.stringify(changed))
  expect(await provision('changed.json')).toMatchObject({
    code: 0,
    stdout:
      'changed the description of the project shop\nchanged the role and the description of the agent ben\n',
  })
  expect(await provision('changed.json')).toMatchObject({ code: 0, stdout: 'nothing to change\n' })
  const shop = (await allProjects()).find(({ name }) => name === 'shop')
  expect(shop?.description).toBe('The shop alone.')
  const target = `/api/admin/projects/${shop?.id}/agents`
  const { agents } = await node.owner.ok<{ agents: { name: string }[] }>({ target })
  expect(agents).toHaveLength(3)
  // The file leaves out the role of ada, so it stays.
  expect(agents.find(({ name }) => name === 'ada')).toMatchObject({ role_name: 'developer' })
  expect(agents.find(({ name }) => name === 'ben')).toMatchObject({
    role_name: 'auditor',
    description: 'Reads the logs.',
  })
})
