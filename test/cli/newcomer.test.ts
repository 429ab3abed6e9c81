/**
 * The mistakes of a new user. Each error names the fault and, if possible, a next step, and has the exit code
 * of its kind. The mistakes use up no code, link or message.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk, type DeskOptions } from '../support/desk.ts'
import { onSqlite } from '../support/one-store.ts'
import { ownerPassword } from '../support/owner.ts'
import { dropDatabase, isOnPostgres, makeEmptyDatabase } from '../support/postgres.ts'
import { enrolled } from '../support/profiles.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  await enrolled(bridge, desk, 'cleo')
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

/** Returns the exit code and the lines that a person reads. */
async function told(
  argv: readonly string[],
  options: DeskOptions = {},
): Promise<[number | null, string, string]> {
  const { code, stdout, stderr } = await desk.run(argv, options)
  expect(stdout).toBe('')
  const [, message = '', hint = ''] = /^bridge: (.*)\n(?:hint: (.*)\n)?$/.exec(stderr) ?? [undefined, stderr]
  return [code, message, hint]
}

const id = '01980000-0000-7000-8000-000000000001'
const login = ['admin', 'login', '--name', 'olu', '--password-stdin']

describe('before anything is set up', () => {
  const nowhere = '/nowhere/at/all'
  beforeAll(() => makeEmptyDatabase(nowhere))
  afterAll(() => dropDatabase(nowhere))

  test.each<[readonly string[], number, string, string]>([
    [
      ['admin', 'agent', 'list'],
      5,
      'not signed in',
      'bridge admin login --url URL --name NAME signs in; bridge admin setup',
    ],
    [
      ['send', 'ben', 'hi'],
      5,
      'no identity in the profile default',
      '--profile can choose one of cleo; bridge enroll --url URL creates one, with a code from the owner',
    ],
    [['enroll'], 2, 'no enrolment code on standard input', 'the whole prompt will do too'],
    [['admin', 'setup'], 2, "required option '--name <name>' not specified", 'bridge admin setup --help'],
    [
      ['server', 'start', '--data', nowhere],
      3,
      `${isOnPostgres ? 'the database' : nowhere} holds no installation`,
      'bridge server init --data /nowhere/at/all creates an installation',
    ],
    [
      ['server', 'init', '--data', nowhere, '--host', '0.0.0.0'],
      2,
      'set --tls-cert and --tls-key, or list your TLS proxies in --trusted-proxy',
      'bridge server start --help lists the settings',
    ],
    [
      ['server', 'init', '--data', nowhere, '--port', 'abc'],
      2,
      'port must be a whole number',
      'lists the settings',
    ],
    [
      ['server', 'init', '--data', nowhere, '--tls-cert', '/no/cert.pem', '--tls-key', '/no/key.pem'],
      2,
      '--tls-cert /no/cert.pem cannot be read (ENOENT)',
      'lists the settings',
    ],
  ])('%j exits %i', async (argv, code, message, hint) => {
    expect(await told(argv)).toEqual([code, expect.stringContaining(message), expect.stringContaining(hint)])
  })

  onSqlite('test/server/postgres/backups.test.ts').test('a missing backup exits 3', async () => {
    const argv = ['server', 'restore', 'nofile.db', '--data', nowhere]
    expect(await told(argv)).toEqual([3, 'the file nofile.db does not exist', ''])
  })
})

describe('signing in', () => {
  test('at a wrong address reports the address', async () => {
    const options = { stdin: `${ownerPassword}\n` }
    const { port } = new URL(bridge.url)
    expect(await told([...login, '--url', `https://127.0.0.1:${port}`], options)).toEqual([
      9,
      `what answered at https://127.0.0.1:${port} does not speak TLS (EPROTO)`,
      `does this port speak plain http? its address would be http://127.0.0.1:${port}`,
    ])
    expect(await told([...login, '--url', 'http://127.0.0.1:9'], options)).toEqual([
      9,
      'no connection to the node at http://127.0.0.1:9 (ECONNREFUSED)',
      expect.stringContaining('is the node running'),
    ])
    expect(await told([...login, '--url', `${bridge.url}/setup`], options)).toEqual([
      3,
      expect.any(String),
      `the address has the path /setup; most nodes are at ${bridge.url}`,
    ])
    // None of these attempts stored a sign-in. Spaces around an address are ignored.
    expect(await told(['admin', 'whoami'])).toEqual([5, 'not signed in', expect.any(String)])
    expect((await desk.run([...login, '--url', `  ${bridge.url} `], options)).code).toBe(0)
  })

  test('without a password on standard input explains the expected content', async () => {
    expect(
      await told(['admin', 'setup', '--name', 'olu', '--password-stdin'], {
        stdin: `${bridge.url}/setup#${'a'.repeat(43)}\n`,
      }),
    ).toEqual([
      2,
      'no new password was given',
      'standard input must have one line for each secret; --help lists them',
    ])
  })
})

describe('enrolling', () => {
  const enrol = (profile: string, stdin: string, url = bridge.url) =>
    desk.run(['enroll', '--url', url, '--profile', profile], { stdin })

  test.each<[string, (code: string) => string]>([
    ['with blanks and blank lines', (code) => `\n   ${code} \t\n\n`],
    ['with Windows line ends', (code) => `${code}\r\n`],
    [
      'as the whole prompt',
      (code) => `You are the agent "eve".\n\nbridge enroll <<'CODE'\n${code}\nCODE\n\n3. See who is there.\n`,
    ],
    [
      'indented, so that the here-document includes the rest',
      (code) => `  ${code}\n  CODE\n\n  3. See who is there, then listen.\n`,
    ],
  ])('a code that is pasted %s is found', async (what, pasted) => {
    const name = `eve-${what.length}`
    const agent = await bridge.owner.createAgent(bridge.project.id, name)
    const code = await bridge.owner.enrollmentCode(bridge.project.id, agent.id)
    expect(await enrol(name, pasted(code), ` ${bridge.url}/ `)).toMatchObject({ code: 0, stderr: '' })
  })

  test('two codes are refused', async () => {
    const [one, other] = ['a'.repeat(24), 'b'.repeat(24)]
    const { code, stderr } = await enrol('none', `${one}\n${other}\n`)
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('standard input has 2 enrolment codes, and only one can be used'),
    ])
    expect(stderr).not.toContain(one)
    expect(await readdir(desk.path())).not.toContain('none')
  })
})

describe('an agent at work', () => {
  test.each<[readonly string[], number, string, string]>([
    [['peers', '--profile', 'clo'], 5, 'no identity in the profile clo', '--profile can choose one of cleo'],
    [
      ['send', 'bem', 'hi'],
      3,
      'no permitted peer has the name or id bem',
      'bridge peers --profile cleo lists the peers',
    ],
    [['task', 'run', '--exec', ''], 2, "option '--exec <command>' is invalid. It is empty.", ''],
    [['listen', '--exec', ' '], 2, "option '--exec <command>' is invalid. It is empty.", ''],
    [['send', 'ben', ''], 2, '<text> is empty', 'give it as an argument in quotes'],
    [['send', 'ben', 'two', 'words'], 2, 'too many arguments', 'put the text in quotes'],
    [['task', 'create', 'ben', 'title'], 2, '<instructions> is empty', 'on standard input'],
    [['task', 'complete', id, 'done'], 2, 'a result needs evidence', '--evidence'],
    [
      ['task', 'complete', id, 'done', '--evidence', 'text:x'],
      7,
      'this profile has no claim on task',
      `bridge task show --profile cleo ${id} shows its state`,
    ],
    [
      ['task', 'claim', 'latest'],
      2,
      "the argument 'task_id' is invalid",
      'bridge task list --profile cleo shows the ids',
    ],
    [
      ['task', 'claim'],
      2,
      "missing required argument 'task_id'",
      'bridge task list --profile cleo shows the ids',
    ],
    [
      ['transfer', 'receive', 'x'],
      2,
      "the argument 'transfer_id' is invalid",
      'bridge transfer list --profile cleo shows the ids',
    ],
    [
      ['ack', 'x'],
      2,
      "the argument 'message_id' is invalid",
      'bridge inbox --profile cleo and bridge history --profile cleo show the ids',
    ],
    [['transfer', 'send', 'nofile', '--to', 'ben'], 2, 'cannot use nofile: it does not exist (ENOENT)', ''],
    [['transfer', 'send', '.', '--to', 'ben'], 2, '. is not a regular file', ''],
    [['transfer', 'receive', id], 3, 'nothing has that id', 'bridge peers --profile cleo'],
    [
      ['key', 'import'],
      2,
      'standard input: this is no age identity',
      'bridge key import --profile cleo < FILE',
    ],
    [['schedule'], 2, 'give either --every or --checkpoint', 'bridge schedule --profile cleo --every 5m'],
    [['schedule', '--every', '1'], 2, '--every must be at least 5 seconds', ''],
    [
      ['admin', 'credential', 'revoke', 'cleo'],
      2,
      "the argument 'credential_id' is invalid",
      'bridge admin credential list --profile cleo shows the ids',
    ],
    [
      ['admin', 'ack', 'x'],
      2,
      "the argument 'message_id' is invalid",
      'bridge admin inbox --profile cleo and bridge admin history --profile cleo',
    ],
  ])('%j exits %i', async (argv, code, message, hint) => {
    const asCleo = argv.includes('--profile') ? argv : [...argv, '--profile', 'cleo']
    expect(await told(asCleo)).toEqual([
      code,
      expect.stringContaining(message),
      expect.stringContaining(hint),
    ])
  })

  test('an invalid choice is reported once, in the words that were typed', async () => {
    expect((await told(['schedule', '--every', '1', '--profile', 'cleo']))[1]).toBe(
      '--every must be at least 5 seconds',
    )
  })

  test('damaged files of a profile are named, with the command that writes them again', async () => {
    const path = desk.path('cleo', 'profile.json')
    const whole = await readFile(path, 'utf8')
    await writeFile(path, '{')
    expect(await told(['whoami', '--profile', 'cleo'])).toEqual([
      5,
      `${path} is not a JSON object`,
      'bridge enroll --profile cleo --url URL --replace writes a new one, with a new code from the owner',
    ])
    await writeFile(path, whole)
    await mkdir(desk.path('spoilt'), { recursive: true })
    const owner = desk.path('spoilt', 'owner.json')
    await writeFile(owner, '[]')
    expect(await told(['admin', 'status', '--profile', 'spoilt'])).toEqual([
      5,
      `${owner} is not a JSON object`,
      'bridge admin login --profile spoilt --url URL --name NAME writes a new one',
    ])
  })

  test('an unusable home folder is named', async () => {
    const file = join(desk.folder, 'a file')
    await writeFile(file, '')
    const ended = await desk.run(['enroll', '--url', bridge.url], {
      stdin: `${'a'.repeat(24)}\n`,
      environment: { BRIDGE_HOME: file },
    })
    expect(ended).toMatchObject({ stdout: '', stderr: expect.stringContaining(file) })
    expect(ended.code).not.toBe(0)
  })
})
