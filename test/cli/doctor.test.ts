/**
 * `bridge doctor` and `bridge server doctor` report each fault with its remedy and exit code. They
 * distinguish a sandbox without network from an unreachable node.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../server/config.ts'
import { initServer } from '../../server/host/init.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { onSqlite } from '../support/one-store.ts'
import { isOnPostgres } from '../support/postgres.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'
import { compileCache, program } from '../support/program.ts'
import type { Ended } from '../support/test-home.ts'

interface Report {
  readonly healthy: boolean
  readonly findings: readonly {
    check: string
    state: string
    text: string
    remedy: string | null
    exit_code: number | null
  }[]
}

let bridge: TestBridge
let home: Desk
let ada: Enrolled

beforeAll(async () => {
  bridge = await startBridge({ clock: Object.assign(() => new Date(), { advance: () => {} }) as never })
  home = await Desk.make()
  ada = await enrolled(bridge, home, 'cleo')
})
afterAll(async () => {
  await home.remove()
  await bridge.close()
})

const reportOf = ({ stdout }: Ended): Report => JSON.parse(stdout) as Report
const found = (ended: Ended, check: string) => reportOf(ended).findings.filter((each) => each.check === check)

describe('bridge doctor', () => {
  test('accepts a valid profile, and warns of unread mail without a listener', async () => {
    await ada.bridge('peers')
    const well = await ada.bridge('doctor', '--json')
    expect(well.code).toBe(0)
    expect(reportOf(well).findings.map(({ check, state }) => `${check} ${state}`)).toEqual([
      'profile ok',
      'files ok',
      'key ok',
      'node ok',
      'version ok',
      'credential ok',
      'clock ok',
      'session ok',
      'listening ok',
      'outbox ok',
    ])
    await bridge.owner.message(bridge.project.id, ada.id, 'are you there?')
    const unread = await ada.bridge('doctor', '--json')
    expect([unread.code, ...found(unread, 'listening')]).toMatchObject([
      0,
      {
        state: 'warning',
        text: '1 unacknowledged message, and no listen runs here',
        remedy: expect.any(String),
      },
    ])
    // The doctor offered no message, so this is the first offer.
    const [message] = await ada.lines<{ delivery?: { attempt: number } }>('listen', '--once')
    expect(message?.delivery?.attempt ?? 1).toBe(1)
  })

  test('the hint repeats a remedy as it was printed, with npx and profile once', async () => {
    const environment = { npm_command: 'exec', npm_lifecycle_event: 'npx' }
    const { code, stdout, stderr } = await home.run(['doctor', '--profile', 'nobody'], { environment })
    const remedy = 'npx bridge enroll --profile nobody --url URL creates one'
    expect([code, stdout, stderr]).toEqual([
      5,
      expect.stringContaining(`; ${remedy}`),
      expect.stringContaining(`\nhint: --profile can choose one of cleo; ${remedy}`),
    ])
  })

  test('reports a key that others may read, with the exit code and the remedy of every command', async () => {
    const key = join(home.path('cleo'), (await keyFile()) ?? '')
    chmodSync(key, 0o644)
    const open = await ada.bridge('doctor', '--json')
    expect([open.code, ...found(open, 'key')]).toMatchObject([
      5,
      { state: 'problem', exit_code: 5, remedy: expect.stringContaining('chmod 600') },
    ])
    chmodSync(key, 0o600)
  })

  test('explains how to get a profile if there is none', async () => {
    const none = await home.run(['doctor', '--profile', 'nobody'])
    expect(none).toMatchObject({
      code: 5,
      stdout: expect.stringMatching(/^problem +profile .*bridge enroll/m),
    })
  })
})

async function keyFile(): Promise<string | undefined> {
  const { readdirSync } = await import('node:fs')
  return readdirSync(home.path('cleo')).find((name) => name.startsWith('key-'))
}

const hasStrace = spawnSync('strace', ['-V']).status === 0
const hasUnshare = spawnSync('unshare', ['-n', 'true']).status === 0

/** Runs the program through another one that blocks its network. */
function closed(words: readonly string[], args: readonly string[]) {
  const [command = '', ...before] = words
  return spawnSync(command, [...before, process.execPath, program, ...args, '--profile', 'cleo'], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      HOME: home.folder,
      BRIDGE_HOME: home.home,
      NODE_COMPILE_CACHE: compileCache,
    },
    // The call blocks this process, so the time limit of the test cannot end it.
    timeout: 240_000,
  })
}

const blockers: [string, boolean, string[]][] = [
  ['a separate, empty network', hasUnshare, ['unshare', '-n']],
  [
    'a filter on connections',
    hasStrace,
    ['strace', '-f', '-qqq', '-o', '/dev/null', '-e', 'trace=connect', '-e', 'inject=connect:error=EPERM'],
  ],
]

for (const [name, is, words] of blockers) {
  describe.runIf(is)(`in a sandbox with ${name}`, () => {
    test.each([[['whoami']], [['send', 'ada', 'hi']], [['listen', '--timeout', '15']], [['doctor']]])(
      '%j exits 13',
      (args) => {
        const { status, stderr } = closed(words, args)
        expect([status, stderr]).toEqual([
          13,
          expect.stringMatching(/hint: .*allow (it|this program) to open/),
        ])
      },
    )
  })
}

test('reports an unreachable node differently from a sandbox', async () => {
  const away = await home.run(['server', 'status', '--url', 'http://127.0.0.1:9'])
  expect(away.code).toBe(9)
})

describe('bridge server doctor', () => {
  test('accepts a valid installation, and reports faults made in it', async () => {
    const data = ['--data', bridge.data]
    const well = await home.run(['server', 'doctor', '--json', ...data])
    expect([well.code, reportOf(well).findings.filter(({ state }) => state === 'problem')]).toEqual([0, []])
    const text = isOnPostgres ? expect.stringMatching(/^PostgreSQL \d/) : 'all pages are intact'
    expect(found(well, 'database')).toMatchObject([{ text }])
    expect(found(well, 'server')).toMatchObject([{ state: 'ok', text: expect.stringContaining('ready') }])

    chmodSync(join(bridge.data, 'envelope.key'), 0o644)
    const open = await home.run(['server', 'doctor', ...data, '--portal-origin', 'https://bridge.example'])
    expect(open).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^warning +data folder .*chmod go= .*envelope\.key$/m),
    })
    expect(open.stdout).toMatch(/^warning +origin .*--trusted-proxy/m)
    chmodSync(join(bridge.data, 'envelope.key'), 0o600)
  })

  test('has a separate exit code for an invalid setting', async () => {
    const ended = await home.run(['server', 'doctor', '--data', bridge.data, '--host', '0.0.0.0'])
    expect(ended).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^problem +settings .*not a loopback address/m),
    })
  })

  const { test: sqliteTest } = onSqlite('test/server/postgres/doctor.test.ts')
  sqliteTest('has separate exit codes for a missing installation and a damaged database', async () => {
    const empty = join(home.folder, 'empty')
    expect(await home.run(['server', 'doctor', '--data', empty])).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^problem +data folder .*bridge server init --data/m),
    })
    await initServer(readConfig({ data: empty }, {}))
    writeFileSync(join(empty, 'bridge.db'), 'no database at all, and long enough to be looked at'.repeat(100))
    expect(await home.run(['server', 'doctor', '--data', empty])).toMatchObject({
      code: 15,
      stdout: expect.stringMatching(/^problem +database .*bridge server restore --data \S+ BACKUP/m),
    })
  })

  sqliteTest('does not call a locked database damaged, and advises no restore', async () => {
    const data = join(home.folder, 'held')
    await initServer(readConfig({ data }, {}))
    const holder = new Database(join(data, 'bridge.db'))
    onTestFinished(() => void holder.close())
    holder.pragma('locking_mode = EXCLUSIVE')
    holder.prepare('SELECT * FROM server').all()
    const { code, stdout } = await home.run(['server', 'doctor', '--data', data])
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^problem +database .*bridge\.db cannot be read: database is locked/m),
    ])
    expect(stdout).not.toContain('restore')
  })
})
