/** A refusal of a field uses the words that a person typed, and no path or field name of the wire. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { failureWords } from '../../cli/failures/failure-words.ts'
import { subjectOf } from '../../cli/failures/field-words.ts'
import { noCommand } from '../../cli/terminal/current-command.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { BridgeError } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { Desk } from '../support/desk.ts'
import { ownerPassword } from '../support/owner.ts'
import { dropDatabase, makeEmptyDatabase } from '../support/postgres.ts'
import { enrolled } from '../support/profiles.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  await enrolled(bridge, desk, 'cleo')
  await desk.run(['admin', 'login', '--url', bridge.url, '--name', 'olu', '--password-stdin'], {
    stdin: `${ownerPassword}\n`,
  })
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

const fieldsOf = ({ properties = {}, items, anyOf = [] }: Schema): string[] => [
  ...Object.keys(properties),
  ...[...Object.values(properties), ...(items ? [items] : []), ...anyOf].flatMap(fieldsOf),
]

test('every field of a request has words', () => {
  const fields = new Set(
    endpoints.flatMap(({ body, query, params }) =>
      [body, query, params].flatMap((part) => (part === undefined ? [] : fieldsOf(part as Schema))),
    ),
  )
  expect(fields.size).toBeGreaterThan(50)
  for (const field of fields)
    expect([field, subjectOf(field, noCommand)]).toEqual([field, expect.stringMatching(/^the [a-z0-9 ]+$/)])
})

const long = 'x'.repeat(201)

test.each<[readonly string[], string, string?]>([
  [['admin', 'project', 'create', ''], '<name> must have at least 1 character'],
  [['admin', 'project', 'create', 'a\u0007b'], '<name> must not contain U+0007'],
  [['admin', 'agent', 'create', long], '<name> must have at most 80 characters'],
  [['admin', 'agent', 'create', 'x', '--role', ' x'], '--role must be one line'],
  [['admin', 'agent', 'name', 'cleo', long], '<new_name> must have at most 80 characters'],
  [['admin', 'enrollment', 'create', 'cleo', '--ttl', '10s'], '--ttl must be at least 60 seconds'],
  [['admin', 'takeover', 'cleo', '--ttl', '2d'], '--ttl must be at most 3600 seconds'],
  [['admin', 'task', 'create', 'cleo', long, 'y'], '<title> must have at most 200 characters'],
  [['admin', 'message', 'cleo', '-'], '<text> must not be longer than 65536 bytes', 'y'.repeat(65_537)],
  [['admin', 'project', 'delete', 'demo', '--confirm', 'other'], '--confirm '],
  [['admin', 'password', '--password-stdin'], 'the new password must have at least 12 characters', 'short'],
  [['task', 'create', 'ada', long, 'y', '--profile', 'cleo'], '<title> must have at most 200 characters'],
  [['schedule', '--every', '1s', '--profile', 'cleo'], '--every must be at least 5 seconds'],
  [
    ['send', 'ada', 'x', '--in-reply-to', '01980000-0000-7000-8000-000000000001', '--profile', 'cleo'],
    '--in-reply-to is not the id of a message in this conversation',
  ],
])('%j is refused: %s', async (argv, words, stdin = '') => {
  const { code, stdout, stderr } = await desk.run(argv, { stdin })
  expect(stderr).toMatch(/^bridge: /)
  expect(stderr.slice('bridge: '.length)).toContain(words)
  expect(stderr).not.toMatch(/\b(body|query|path)\/|[a-z]_[a-z]+ (?!<)must/)
  expect({ code, stdout }).toEqual({ code: words.includes('is not the id') ? 3 : 2, stdout: '' })
})

test('a rule in the form of a sentence follows its subject', () => {
  const faults = [{ path: 'body/size', problem: 'a package has at most 9 bytes' }]
  const body = { error: 'invalid_request' as const, message: '', request_id: 'r', details: { faults } }
  const refusal = new BridgeError({ method: 'POST', path: '/' }, 422, body)
  expect(failureWords(refusal, { ...noCommand, arguments: ['file'] })).toBe(
    '<file>: a package has at most 9 bytes',
  )
  expect(failureWords(refusal)).toBe('the size of the file: a package has at most 9 bytes')
})

test('a program gets the words for people, and the paths of the wire beside them', async () => {
  const { stderr } = await desk.run(['admin', 'agent', 'create', long, '--json'])
  expect(JSON.parse(stderr)).toMatchObject({
    error: 'invalid_request',
    message: '<name> must have at most 80 characters',
    details: { faults: [{ path: 'body/name', problem: 'must NOT have more than 80 characters' }] },
  })
})

test('a set-up with too short a password is refused with that reason, and the link stays valid', async () => {
  const fresh = await Desk.make()
  const data = join(fresh.folder, 'data')
  const { initServer } = await import('../../server/host/init.ts')
  const { startServer } = await import('../../server/server.ts')
  await makeEmptyDatabase(data)
  const config = testConfig(data, { port: '0' })
  const { setupLink } = await initServer(config)
  const running = await startServer({ ...config, logLevel: 'silent' })
  const setup = (password: string) =>
    fresh.run(['admin', 'setup', '--name', 'olu', '--url', running.url, '--password-stdin'], {
      stdin: `${setupLink}\n${password}\n`,
    })
  expect(await setup('short')).toMatchObject({
    code: 2,
    stderr: 'bridge: the password must have at least 12 characters\n',
  })
  expect(await setup('correct horse battery staple')).toMatchObject({ code: 0 })
  await running.stop()
  await dropDatabase(data)
  await fresh.remove()
})
