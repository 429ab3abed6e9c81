/**
 * Further findings of both doctor commands, each with its remedy and exit code. They concern clocks,
 * versions, another node at the address, a node that is not ready or unreachable, unsent requests, a full
 * disk, and a database of a newer program.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { version } from '../../sdk/program.ts'
import { replacedNames } from '../../server/database/migrations/replaced.ts'
import { initServer } from '../../server/host/init.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { Desk, type DeskOptions } from '../support/desk.ts'
import { onSqlite } from '../support/one-store.ts'
import { dropDatabase, makeEmptyDatabase } from '../support/postgres.ts'
import { enrolled } from '../support/profiles.ts'
import type { Ended } from '../support/test-home.ts'
import { type TestStore, withStore } from '../support/test-store.ts'

interface Found {
  readonly check: string
  readonly state: string
  readonly text: string
  readonly remedy: string | null
}

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

const found = ({ stdout }: Ended, check: string) =>
  (JSON.parse(stdout) as { findings: Found[] }).findings.filter((each) => each.check === check)

const doctor = (options: DeskOptions = {}) => desk.run(['doctor', '--json', '--profile', 'cleo'], options)

/** Sets another address in the profile until the test ends. */
function movedTo(url: string): void {
  const path = desk.path('cleo', 'profile.json')
  const before = readFileSync(path, 'utf8')
  onTestFinished(() => writeFileSync(path, before))
  writeFileSync(path, JSON.stringify({ ...JSON.parse(before), base_url: url }))
}

/** Starts a proxy in front of the node that changes its answers. */
async function changing(change: (body: string) => string): Promise<string> {
  const server = createServer((asked, answer) => {
    const { url: path, method, headers } = asked
    const onward = request(`${bridge.url}${path}`, { method, headers }, (given) => {
      const parts: Buffer[] = []
      given.on('data', (part: Buffer) => parts.push(part))
      given.on('end', () => {
        const { 'content-length': _, ...kept } = given.headers
        answer.writeHead(given.statusCode ?? 502, kept).end(change(Buffer.concat(parts).toString()))
      })
    })
    asked.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('bridge doctor', () => {
  test.each([
    [20, "the node's clock is 20 seconds behind this machine's"],
    [-20, "the node's clock is 20 seconds ahead of this machine's"],
    // The offset is larger than a proof may have, so it is corrected before the doctor's request.
    [600, "the node's clock is 600 seconds behind this machine's"],
  ])('reports that the clock is off by %i seconds', async (seconds, text) => {
    // The doctor takes the middle of its request, which a busy machine may move by a second.
    const goOn = bridge.clock.hold()
    onTestFinished(goOn)
    const now = bridge.clock().getTime() + seconds * 1000
    const ended = await doctor({ clock: () => new Date(now) })
    expect([ended.code, ...found(ended, 'clock')]).toEqual([
      0,
      expect.objectContaining({ state: 'warning', text, remedy: "set this machine's clock" }),
    ])
  })

  test('reports another version of the node', async () => {
    movedTo(await changing((body) => body.replace(`"version":"${version}"`, '"version":"0.0.9"')))
    const ended = await doctor()
    expect([ended.code, ...found(ended, 'version')]).toMatchObject([
      0,
      { state: 'warning', text: `this program is ${version}, the node 0.0.9`, remedy: expect.any(String) },
    ])
  })

  test('reports that another node answers at the address', async () => {
    const other = await startBridge()
    onTestFinished(() => other.close())
    movedTo(other.url)
    const ended = await doctor()
    expect([ended.code, ...found(ended, 'node'), ...found(ended, 'credential')]).toMatchObject([
      5,
      { state: 'problem', text: expect.stringContaining('another node answers'), remedy: expect.any(String) },
    ])
  })

  test('is what a command at another node names, and says more than that command', async () => {
    const other = await startBridge()
    onTestFinished(() => other.close())
    movedTo(other.url)
    const { code, stderr } = await desk.run(['peers', '--profile', 'cleo'])
    const named = /\? bridge ([a-z]+) --profile cleo shows it\n$/.exec(stderr)?.[1] ?? ''
    const shown = await desk.run([named, '--profile', 'cleo'])
    expect([code, shown.stdout]).toEqual([
      5,
      expect.stringContaining(`another node answers at ${other.url} than the one this agent was enrolled at`),
    ])
  })

  test('does not name itself when the node of the agent does not know its credential', async () => {
    const path = desk.path('cleo', 'profile.json')
    const before = readFileSync(path, 'utf8')
    onTestFinished(() => writeFileSync(path, before))
    const profile = JSON.parse(before)
    const { server_id: unknown, credential_id: known } = profile.identity
    const identity = { ...profile.identity, credential_id: unknown }
    const keyOf = (credential: string) => desk.path('cleo', `key-${credential}.pem`)
    onTestFinished(() => rmSync(keyOf(unknown), { force: true }))
    copyFileSync(keyOf(known), keyOf(unknown))
    writeFileSync(path, JSON.stringify({ ...profile, identity }))
    const ended = await doctor()
    expect([ended.code, ...found(ended, 'credential')]).toMatchObject([
      5,
      { state: 'problem', remedy: 'the owner can enrol this agent again' },
    ])
  })

  test('reports that the node is not ready, with the reason', async () => {
    const key = join(bridge.data, 'envelope.key')
    renameSync(key, `${key}.away`)
    const ended = await doctor()
    renameSync(`${key}.away`, key)
    expect([ended.code, ...found(ended, 'node')]).toMatchObject([
      9,
      {
        state: 'problem',
        text: expect.stringMatching(/is not ready: \w+/),
        remedy: expect.stringContaining('bridge server doctor'),
      },
    ])
  })

  test('reports that the node is unreachable, and the requests waiting to be sent', async () => {
    movedTo('http://127.0.0.1:9')
    const sent = await desk.run(['send', 'owner', 'for later', '--profile', 'cleo'])
    expect(sent.code).toBe(9)
    const ended = await doctor()
    expect([ended.code, ...found(ended, 'node'), ...found(ended, 'outbox')]).toMatchObject([
      9,
      { state: 'problem' },
      {
        state: 'warning',
        text: 'keeps 1 unsent',
        remedy: expect.stringContaining('bridge outbox flush'),
      },
    ])
  })
})

/** Makes a changed installation without a running server. The test drops its database. */
async function installation(
  change: (store: TestStore, data: string) => void = () => {},
  data = desk.path(`data-${Math.floor(performance.now() * 1000)}`),
): Promise<string> {
  await makeEmptyDatabase(data)
  onTestFinished(() => dropDatabase(data))
  await initServer(testConfig(data))
  withStore(data, (store) => change(store, data))
  return data
}

const serverDoctor = (data: string, options: DeskOptions = {}) =>
  desk.run(['server', 'doctor', '--json', '--data', data], options)

describe('bridge server doctor', () => {
  test.each<[string, (store: TestStore, data: string) => void, number, string, string, RegExp]>([
    [
      'a database of a newer program',
      (store) =>
        store
          .prepare(
            "INSERT INTO schema_migrations SELECT max(number) + 1, 'future', max(applied_at) FROM schema_migrations",
          )
          .run(),
      7,
      'schema',
      'problem',
      /is at migration \d+(_future)?, but this program only knows \d+/,
    ],
    [
      'a database of another history',
      (store) => store.exec("UPDATE schema_migrations SET name = 'other' WHERE number = 7"),
      7,
      'schema',
      'problem',
      /records migration 007_other where this program has 007_environments/,
    ],
    [
      'a database that the steps before the baseline left unfinished',
      (store) => {
        store.exec('DELETE FROM schema_migrations')
        const record = store.prepare(
          "INSERT INTO schema_migrations VALUES (?, ?, '2026-06-01T12:00:00.000Z')",
        )
        for (const [index, name] of replacedNames.slice(0, 46).entries()) record.run(index + 1, name)
      },
      7,
      'schema',
      'problem',
      /records 46 of the 47 migrations that a baseline replaced/,
    ],
    [
      'a missing envelope key',
      (_, data) => rmSync(join(data, 'envelope.key')),
      1,
      'key',
      'problem',
      /is missing or is not 32 bytes/,
    ],
    [
      'an address file of a server that was killed',
      (_, data) =>
        writeFileSync(join(data, 'server.json'), JSON.stringify({ url: 'http://127.0.0.1:9', pid: 1 })),
      9,
      'server',
      'problem',
      /should run at .*, but does not answer/,
    ],
  ])('reports %s', async (_, change, code, check, state, text) => {
    const ended = await serverDoctor(await installation(change))
    expect([ended.code, ...found(ended, check)]).toEqual([
      code,
      expect.objectContaining({ state, text: expect.stringMatching(text), remedy: expect.any(String) }),
    ])
  })

  const { test: sqliteTest } = onSqlite('test/server/postgres/doctor.test.ts')

  sqliteTest('reports a journal in another mode', async () => {
    const data = await installation((store) => store.exec('PRAGMA journal_mode = DELETE'))
    const ended = await serverDoctor(data)
    const text = expect.stringContaining('in delete mode instead of WAL')
    const remedy = expect.stringContaining('the next start sets WAL mode')
    expect([ended.code, ...found(ended, 'journal')]).toMatchObject([0, { state: 'warning', text, remedy }])
  })

  sqliteTest('reports a WAL whose checkpoint is blocked by a reader', async () => {
    const data = await installation()
    const log = join(data, 'bridge.db-wal')
    writeFileSync(log, '')
    truncateSync(log, 300 * 1024 * 1024)
    const ended = await serverDoctor(data)
    const text = expect.stringContaining('has grown to 300 MiB')
    const remedy = expect.stringContaining('find that program')
    expect([ended.code, ...found(ended, 'journal')]).toMatchObject([0, { state: 'warning', text, remedy }])
    truncateSync(log, 200 * 1024 * 1024)
    expect(found(await serverDoctor(data), 'journal')).toMatchObject([{ state: 'ok' }])
  })

  sqliteTest('reports that the clock is behind the stored time', async () => {
    const data = await installation()
    const ended = await serverDoctor(data, { clock: () => new Date(Date.now() - 3_600_000) })
    expect([ended.code, ...found(ended, 'clock')]).toMatchObject([
      1,
      { state: 'problem', text: expect.stringContaining('is behind'), remedy: "set this machine's clock" },
    ])
  })

  test.runIf(canMount())(
    'reports a disk with little space, first as a warning, then as a problem',
    async () => {
      const data = desk.path('small')
      mkdirSync(data)
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200m,mode=700', 'tmpfs', data])
      onTestFinished(() => {
        execFileSync('umount', [data])
      })
      await installation(() => {}, data)
      const little = await serverDoctor(data)
      expect([little.code, ...found(little, 'disk')]).toMatchObject([0, { state: 'warning' }])
      expect(found(little, 'reserve')).toMatchObject([{ state: 'ok', text: 'the running server makes it' }])
      expect(found(little, 'server')).toMatchObject([{ text: 'does not run' }])
      writeFileSync(join(data, 'filling'), Buffer.alloc(150 * 1024 * 1024))
      const none = await serverDoctor(data)
      expect([none.code, ...found(none, 'disk')]).toMatchObject([
        1,
        { state: 'problem', text: expect.stringMatching(/^\d+ MiB free/), remedy: expect.any(String) },
      ])
      expect(found(none, 'reserve')).toMatchObject([
        {
          state: 'warning',
          text: expect.stringContaining('no space for 64 MiB'),
          remedy: expect.any(String),
        },
      ])
    },
  )
})

/** Mounting a file system requires root. */
function canMount(): boolean {
  return process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0
}

test('failed hooks are reported for a day, with the last one and the log', async () => {
  const log = desk.path('cleo', 'hooks.jsonl')
  onTestFinished(() => rmSync(log, { force: true }))
  expect(found(await doctor(), 'hooks')).toEqual([])
  const line = { at: new Date().toISOString(), harness: 'claude', event: 'Stop', ms: 40 }
  const failure = { ...line, outcome: 'unreachable', failed: true, message: 'no connection' }
  const yesterday = { ...failure, at: new Date(Date.now() - 86_500_000).toISOString() }
  const write = (...lines: object[]) =>
    writeFileSync(log, lines.map((each) => `${JSON.stringify(each)}\n`).join(''))
  write(yesterday, { ...line, outcome: 'noticed', failed: false })
  expect(found(await doctor(), 'hooks')).toMatchObject([{ state: 'ok', text: 'no failure within 24 hours' }])
  write(failure, failure, { ...line, outcome: 'too_many_wakes', failed: false })
  expect(found(await doctor(), 'hooks')).toMatchObject([
    {
      state: 'warning',
      text: '2 hooks failed within 24 hours, the last was claude Stop: unreachable, no connection',
      remedy: `${log} has each failure`,
    },
    { state: 'warning', text: 'a session was woken 20 times within an hour and then left alone' },
  ])
})
