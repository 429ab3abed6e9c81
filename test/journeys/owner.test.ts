/**
 * The tasks of owners, from the first command to the last. Each person types at their own desk, with one
 * server that runs as a separate process.
 *
 * docs/operations.md describes each of these stories.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Desk } from '../support/desk.ts'
import { codeOf } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'

const password = 'correct horse battery staple'

let node: ServerProcess
let owner: Desk
const desks: Desk[] = []

async function desk(): Promise<Desk> {
  const made = await Desk.make()
  desks.push(made)
  return made
}

beforeAll(async () => {
  node = await startServerProcess()
  owner = await desk()
  const stdin = `${node.setupLink}\n${password}\n`
  await done(owner.run(['admin', 'setup', '--name', 'olu', '--url', node.url, '--password-stdin'], { stdin }))
})
afterAll(async () => {
  await node.close()
  for (const each of desks) await each.remove()
})

/** Returns the standard output of a command that must succeed. */
async function done(running: ReturnType<Desk['run']>): Promise<string> {
  const { code, stdout, stderr } = await running
  expect(code, stderr).toBe(0)
  return stdout
}

const admin = (...args: string[]) => done(owner.run(['admin', ...args]))
const adminJson = <T>(...args: string[]) => owner.json<T>(['admin', ...args])

/** The person at an agent's machine pastes the prompt, which makes a separate profile. */
async function letIn(name: string, project: string, machine: Desk): Promise<void> {
  const prompt = await admin('enrollment', 'create', name, '--project', project)
  const enroll = ['enroll', '--url', node.url, '--profile', name]
  await done(machine.run(enroll, { stdin: `${codeOf(prompt)}\n` }))
}

const as = (machine: Desk, name: string) => ({
  ok: (...args: string[]) => done(machine.run([...args, '--profile', name])),
  refused: async (...args: string[]) => {
    const { code, stderr } = await machine.run([...args, '--profile', name])
    return { code, stderr }
  },
})

test('an owner sets up a team', async () => {
  const machine = await desk()
  await admin('project', 'create', 'orchard', '--description', 'apples and pears')
  const there = ['--project', 'orchard']
  await admin('environment', 'create', 'attic', '--kind', 'laptop', ...there)
  await admin('agent', 'create', 'ada', '--role', 'builder', '--environment', 'attic', ...there)
  await admin('agent', 'create', 'ben', '--role', 'reviewer', ...there)
  await done(
    owner.run(['admin', 'agent', 'instructions', 'ben', '--file', '-', ...there], {
      stdin: 'Read every change twice.\n',
    }),
  )
  for (const name of ['ada', 'ben']) await letIn(name, 'orchard', machine)
  expect(await admin('enrollment', 'list', '--state', 'claimed', ...there)).toMatch(
    /ada +claimed.*ben +claimed/s,
  )

  const [ada, ben] = [as(machine, 'ada'), as(machine, 'ben')]
  await ada.ok('session', 'start')
  await ben.ok('session', 'start')
  await ada.ok('send', 'ben', 'the gate is ready')
  expect(await ben.ok('listen', '--once', '--timeout', '10', '--ack', 'journal')).toContain(
    'the gate is ready',
  )
  await ben.ok('send', 'owner', 'I take the second look')
  expect(await admin('history', 'ben', ...there)).toContain('I take the second look')
  expect(await admin('agent', 'list', ...there)).toMatch(/ada +builder.*ben +reviewer/s)
  expect(await admin('agent', 'instructions', 'ben', ...there)).toContain('Read every change twice.')
  expect(await admin('pairing', 'list', ...there)).toMatch(/ada +ben +enabled/)
})

test('an owner replaces the lost laptop of an agent', async () => {
  const [lost, found] = [await desk(), await desk()]
  await admin('project', 'create', 'cellar')
  const there = ['--project', 'cellar']
  for (const name of ['cleo', 'dan']) await admin('agent', 'create', name, ...there)
  await letIn('cleo', 'cellar', lost)
  await letIn('dan', 'cellar', lost)
  const thief = as(lost, 'cleo')
  await thief.ok('session', 'start')
  // An unused prompt that was visible on its screen.
  await admin('agent', 'create', 'eve', ...there)
  const astray = codeOf(await admin('enrollment', 'create', 'eve', ...there))

  const { credentials } = await adminJson<{ credentials: { id: string; agent_id: string }[] }>(
    'credential',
    'list',
    ...there,
  )
  const { id } = await adminJson<{ id: string }>('agent', 'show', 'cleo', ...there)
  const stolen = credentials.find(({ agent_id }) => agent_id === id)?.id ?? ''
  expect(await admin('credential', 'revoke', stolen, ...there)).toContain(`revoked: ${stolen.slice(-8)}`)
  const { enrollments } = await adminJson<{ enrollments: { id: string }[] }>(
    'enrollment',
    'list',
    '--state',
    'pending',
    ...there,
  )
  for (const each of enrollments) await admin('enrollment', 'revoke', each.id, ...there)
  expect(await thief.refused('inbox')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('the credential was revoked'),
  })
  expect(await thief.refused('send', 'dan', 'psst')).toMatchObject({ code: 5 })
  const claim = lost.run(['enroll', '--url', node.url, '--profile', 'eve'], { stdin: `${astray}\n` })
  expect(await claim).toMatchObject({ code: 5, stderr: expect.stringContaining('was revoked, or replaced') })

  // Messages sent meanwhile wait for the same agent on another machine.
  await admin('message', 'cleo', 'are you back?', ...there)
  await letIn('cleo', 'cellar', found)
  const cleo = as(found, 'cleo')
  expect(await cleo.ok('listen', '--once', '--timeout', '10')).toContain('are you back?')
  await cleo.ok('send', 'owner', 'on a new machine')
  expect(await thief.refused('inbox')).toMatchObject({ code: 5 })
  const { audit } = await adminJson<{ audit: { kind: string }[] }>('audit', ...there)
  expect(audit.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining([
      'credential.revoked',
      'enrollment.revoked',
      'session.fenced',
      'enrollment.claimed',
    ]),
  )
})

test('an owner assigns a project to an administrator and takes it back', async () => {
  const kims = await desk()
  const kim = (...args: string[]) => done(kims.run(['admin', ...args]))
  await admin('project', 'create', 'mill')
  await admin('project', 'create', 'vault')
  const link = await admin('administrator', 'create', 'kim')
  await admin('administrator', 'assign', 'kim', 'mill')
  expect(await admin('administrator', 'list')).toMatch(/kim +enabled +not yet +mill/)

  await done(kims.run(['admin', 'login', '--url', node.url, '--link'], { stdin: link }))
  expect(
    await done(kims.run(['admin', 'password', '--password-stdin'], { stdin: 'the mill turns slowly\n' })),
  ).toBeDefined()
  const login = ['admin', 'login', '--url', node.url, '--name', 'kim', '--password-stdin']
  await done(kims.run(login, { stdin: 'the mill turns slowly\n' }))
  expect(await kims.run(['admin', 'login', '--url', node.url, '--link'], { stdin: link })).toMatchObject({
    code: 5,
  })

  expect((await kims.json<{ projects: object[] }>(['admin', 'project', 'list'])).projects).toMatchObject([
    { name: 'mill' },
  ])
  await kim('agent', 'create', 'gus')
  const prompt = await kim('enrollment', 'create', 'gus')
  await done(kims.run(['enroll', '--url', node.url, '--profile', 'gus'], { stdin: `${codeOf(prompt)}\n` }))
  await kim('message', 'gus', 'good morning')
  expect(await as(kims, 'gus').ok('listen', '--once', '--timeout', '10')).toMatch(/owner kim.*good morning/s)

  expect(await kims.run(['admin', 'agent', 'list', '--project', 'vault'])).toMatchObject({ code: 3 })
  expect(await kims.run(['admin', 'project', 'create', 'annex'])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('only the owner may do this'),
  })
  const { id: vault } = (
    await adminJson<{ projects: { id: string; name: string }[] }>('project', 'list')
  ).projects.find(({ name }) => name === 'vault') ?? { id: '' }
  expect(await kims.run(['admin', 'project', 'delete', 'mill', '--confirm', 'mill'])).toMatchObject({
    code: 5,
  })
  expect(await kims.run(['admin', 'agent', 'list', '--project', vault])).toMatchObject({ code: 3 })

  await admin('administrator', 'unassign', 'kim', 'mill')
  expect(await kims.run(['admin', 'agent', 'list', '--project', 'mill'])).toMatchObject({ code: 3 })
  await admin('administrator', 'state', 'kim', 'disabled')
  expect(await kims.run(['admin', 'whoami'])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('expired or revoked. Sign in again'),
  })
})

test('an owner pauses on Friday and resumes on Monday', async () => {
  const machine = await desk()
  await admin('project', 'create', 'harbour')
  const there = ['--project', 'harbour']
  for (const name of ['ina', 'jon']) {
    await admin('agent', 'create', name, ...there)
    await letIn(name, 'harbour', machine)
  }
  const [ina, jon] = [as(machine, 'ina'), as(machine, 'jon')]
  await ina.ok('session', 'start')
  await jon.ok('session', 'start')
  await ina.ok('send', 'jon', 'until Monday')

  expect(await admin('project', 'state', 'harbour', 'paused')).toBe('harbour is paused\n')
  expect(await ina.refused('send', 'jon', 'one more thing')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('the project is paused'),
  })
  // Messages are read and recorded, and agents and owner can still write to each other.
  expect(await jon.ok('listen', '--once', '--timeout', '10', '--ack', 'journal')).toContain('until Monday')
  await jon.ok('send', 'owner', 'all quiet')
  await admin('message', 'ina', 'have a good weekend', ...there)
  expect(await ina.ok('inbox')).toContain('have a good weekend')

  expect(await admin('project', 'state', 'harbour', 'active')).toBe('harbour is active\n')
  await ina.ok('send', 'jon', 'good morning')
  expect(await jon.ok('listen', '--once', '--timeout', '10')).toContain('good morning')

  // At the end of the season the project is archived, and restored as paused.
  await admin('project', 'state', 'harbour', 'archived')
  expect(await ina.refused('inbox')).toMatchObject({ stderr: expect.stringContaining('archived') })
  expect(await owner.run(['admin', 'project', 'state', 'harbour', 'active'])).toMatchObject({ code: 7 })
  await admin('project', 'state', 'harbour', 'paused')
  await admin('project', 'state', 'harbour', 'active')
  await jon.ok('send', 'ina', 'back again')

  expect(await owner.run(['admin', 'project', 'delete', 'harbour', '--confirm', 'harbor'])).toMatchObject({
    code: 2,
  })
  expect(await admin('project', 'delete', 'harbour', '--confirm', 'harbour')).toBe('harbour is deleted\n')
  expect(await ina.refused('inbox')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('this server does not know the credential'),
  })
})
