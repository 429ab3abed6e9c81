/**
 * The host's commands, each with its own data folder. Running servers, and the output of a start, come from
 * real processes on loopback; other commands run in this process, which makes no difference to them.
 */

import { once } from 'node:events'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { readAddress } from '../../server/host/init.ts'
import { settings } from '../../server/settings.ts'
import { Desk } from '../support/desk.ts'
import { freePort } from '../support/free-port.ts'
import { dropDatabase, hostEnvironment, isOnPostgres, makeEmptyDatabase } from '../support/postgres.ts'
import { tamper } from '../support/tamper.ts'
import { type Started, TestHome } from '../support/test-home.ts'
import { inTerminal } from './terminal.ts'

let home: TestHome
let desk: Desk
let data: string

beforeEach(async () => {
  home = await TestHome.make()
  desk = await Desk.make()
  data = join(home.folder, 'data')
  await makeEmptyDatabase(data)
})

afterEach(async () => {
  await dropDatabase(data)
  await home.remove()
  await desk.remove()
})

const password = 'correct horse battery staple'

/** The variables of the data folder and of its database. */
const place = () => hostEnvironment(data)

/** Runs the program as a separate process. */
const program = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  home.run(['server', ...args], { environment: { ...place(), ...environment } })

const host = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  desk.run(['server', ...args], {
    environment: { ...place(), BRIDGE_RESERVE_BYTES: '0', ...environment },
  })

interface Ready {
  readonly host: string
  readonly port: number
  readonly url: string
  readonly data: string
  readonly server_id: string
}

/** Starts a server; resolves when it is ready. */
async function start(...flags: string[]): Promise<Ready & { readonly started: Started }> {
  const environment = place()
  const started = home.start(['server', 'start', '--json', '--port', '0', ...flags], { environment })
  return { ...(JSON.parse(await started.printed(/\n/)) as Ready), started }
}

const stop = (started: Started, signal: NodeJS.Signals = 'SIGTERM') => {
  started.child.kill(signal)
  return started.ended
}

async function init(...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await host(['init', ...flags])
  if (code !== 0) throw new Error(stderr)
  return stdout.trim()
}

const setUp = (link: string, url: string) =>
  desk.run(['admin', 'setup', '--name', 'olu', '--url', url, '--password-stdin'], {
    stdin: `${link}\n${password}\n`,
  })

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

test('init makes a private data folder and prints one link, which a second init leaves valid', async () => {
  const { code, stdout, stderr } = await program(['init'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:8484\/setup#[A-Za-z0-9_-]{43}\n$/)
  expect(stderr).not.toContain(stdout.trim().split('#')[1])
  expect([
    await modeOf(data),
    await modeOf(join(data, isOnPostgres ? 'envelope.key' : 'bridge.db')),
    await modeOf(join(data, 'envelope.key')),
  ]).toEqual(['700', '600', '600'])
  const key = await readFile(join(data, 'envelope.key'), 'utf8')
  expect(await host(['init'])).toMatchObject({
    code: 7,
    stdout: '',
    stderr: expect.stringMatching(/^bridge: (.*\/data|the database) holds an installation already\nhint: /),
  })
  expect(await readFile(join(data, 'envelope.key'), 'utf8')).toBe(key)
  const { url, started } = await start()
  expect(await setUp(stdout.trim(), url)).toMatchObject({ code: 0 })
  await stop(started)
})

test('a node that cannot stop cleanly says why, although it was interrupted', async () => {
  await init()
  const { started } = await start()
  await rm(join(data, 'server.json'))
  await mkdir(join(data, 'server.json'))
  const { code, stderr } = await stop(started)
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /"message":"the node did not stop cleanly: [^"]+","hint":"what it acknowledged is stored/,
  )
})

test.runIf(process.platform === 'linux')('a folder that cannot be created is reported', async () => {
  expect(await host(['init', '--data', '/proc/x/y'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^bridge: cannot create the folder \/proc\/x \(ENOENT\); choose another path\n/,
    ),
  })
  const environment = { BRIDGE_HOME: '/proc/x' }
  const enroll = ['enroll', '--url', 'http://127.0.0.1:1']
  expect(await desk.run(enroll, { environment, stdin: `${'A'.repeat(24)}\n` })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^bridge: cannot use \/proc\/x: it does not exist \(ENOENT\)\n/),
  })
})

test('start reports in one line that it is ready, and exits 0 on a signal', async () => {
  await init()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { started, ...ready } = await start()
    expect(ready).toEqual({
      host: '127.0.0.1',
      port: ready.port,
      url: `http://127.0.0.1:${ready.port}`,
      data,
      server_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    const { code, stdout, stderr } = await stop(started, signal)
    expect({ code, lines: stdout.split('\n').length }).toEqual({ code: 0, lines: 2 })
    // The link of init is still valid.
    expect(stderr).not.toContain('set up the owner')
  }
})

test('a node without TLS keeps serving on SIGHUP, which service managers send to reload it', async () => {
  await init()
  const { url, started } = await start()
  started.child.kill('SIGHUP')
  expect((await fetch(`${url}/api/health`)).status).toBe(200)
  expect(await stop(started)).toMatchObject({ code: 0 })
})

test('a node can be told to reload as soon as it says that it is ready', async () => {
  await init()
  const before = process.listenerCount('SIGHUP')
  const interruption = new AbortController()
  let whenReady: number | undefined
  const stdout = new Writable({
    write(_text, _encoding, done) {
      whenReady ??= process.listenerCount('SIGHUP') - before
      interruption.abort()
      done()
    },
  })
  const args = ['server', 'start', '--port', '0', '--log-level', 'silent']
  const { code } = await desk.run(args, { environment: place(), stdout, interruption })
  expect([code, whenReady, process.listenerCount('SIGHUP') - before]).toEqual([0, 1, 0])
})

test.each([
  ['', ''],
  [', with its input redirected,', ' </dev/null'],
])(
  'a node without TLS that was started in a terminal%s ends when the terminal closes',
  async (_, redirected) => {
    await init()
    const exports = Object.entries(place()).map(([name, value]) => `export ${name}='${value}'`)
    const line = [...exports, `bridge server start --port 0${redirected}`].join('\n')
    const terminal = inTerminal(line, join(home.folder, 'terminal'))
    await terminal.shows('ready at')
    const pid = readAddress(data)?.pid ?? Number.NaN
    onTestFinished(() => {
      if (terminal.child.exitCode === null) process.kill(pid, 'SIGKILL')
    })
    // The system sends it to the programs of a terminal that closes.
    process.kill(pid, 'SIGHUP')
    expect(await terminal.ended).not.toBe(0)
  },
)

test('start without an installation is refused', async () => {
  expect(await program(['start', '--port', '0'])).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(/\nhint: bridge server init creates an installation\n$/),
  })
})

test('a second server on the same folder is refused, and the first continues', async () => {
  await init()
  const { started } = await start()
  expect(await program(['start', '--port', '0'])).toMatchObject({ code: 7, stdout: '' })
  expect(await host(['status'])).toMatchObject({ code: 0 })
  await stop(started)
})

test('a port in use is reported', async () => {
  await init()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  expect(await program(['start', '--port', String(port)])).toMatchObject({
    code: 7,
    stderr: expect.stringMatching(
      /\nhint: choose another port with --port or --metrics-port; 0 takes a free one\n$/,
    ),
  })
  other.close()
})

test('status distinguishes a ready node, one that is not ready, a killed one, and a missing one', async () => {
  expect(await host(['status'])).toMatchObject({
    code: 9,
    stderr: expect.stringContaining('no server runs on'),
  })
  await init()
  const first = await start('--stage', 'trial')
  const ready = await host(['status'])
  expect(ready).toMatchObject({ code: 0, stdout: expect.stringMatching(/^stage +trial$/m) })
  expect(ready.stdout).toMatch(/^ready +yes$/m)
  const asked = await desk.run(['server', 'status', '--url', first.url, '--json'])
  expect(JSON.parse(asked.stdout)).toMatchObject({
    health: { server_id: first.server_id },
    readiness: { ready: true },
  })

  await rm(join(data, 'envelope.key'))
  expect(await host(['status'])).toMatchObject({
    code: 9,
    stdout: expect.stringMatching(/^ready +no$/m),
    stderr: expect.stringContaining('the node is not ready: envelope_key'),
  })
  await stop(first.started, 'SIGKILL')
  expect(await host(['status'])).toMatchObject({
    code: 9,
    stderr: expect.stringContaining('no connection to the node'),
  })
})

test('settings come from flags, then the environment, then config.json', async () => {
  const port = String(await freePort())
  const inFile = { port, stage: 'from-file', reserve_bytes: '1000' }
  await init('--port', port, '--stage', inFile.stage, '--reserve-bytes', inFile.reserve_bytes)
  expect(JSON.parse(await readFile(join(data, 'config.json'), 'utf8'))).toEqual(inFile)
  expect(await modeOf(join(data, 'config.json'))).toBe('600')

  const started = home.start(['server', 'start', '--stage', 'from-flag'], {
    environment: { ...place(), BRIDGE_STAGE: 'from-environment', BRIDGE_RESERVE_BYTES: '2000' },
  })
  expect(await started.printed(/\n/)).toBe(`ready at http://127.0.0.1:${port}\n`)
  expect((await host(['status'])).stdout).toMatch(/^stage +from-flag$/m)
  expect(readAddress(data)?.runsWith).toMatchObject({ reserveBytes: 2000 })
  await stop(started)
})

test('an invalid setting is a usage error with its name', async () => {
  await init()
  const usage = (said: string) => ({ code: 2, stdout: '', stderr: expect.stringContaining(said) })
  expect(await host(['start', '--host', '0.0.0.0'])).toMatchObject(
    usage('host 0.0.0.0 is not a loopback address'),
  )
  expect(await host(['start', '--port', 'high'])).toMatchObject(usage('port must be a whole number'))
  expect(await host(['start', '--packages', 's3:/agents'])).toMatchObject(
    usage('bridge: --packages must be folder'),
  )
  expect(await host(['start'], { BRIDGE_PORT: '99999' })).toMatchObject(
    usage('--port must be a whole number'),
  )
  expect(await host(['start', '--colour', 'red'])).toMatchObject(usage("unknown option '--colour'"))
  expect(await host(['status', '--port', '1'])).toMatchObject(usage("unknown option '--port'"))
  await writeFile(join(data, 'config.json'), '{ "prot": 1 }')
  expect(await host(['start'])).toMatchObject(usage('unknown setting prot'))
})

test('the help of start lists every setting', async () => {
  const { code, stdout } = await host(['start', '--help'])
  expect(code).toBe(0)
  for (const { name, env } of settings) {
    expect(stdout).toContain(`--${name.replaceAll('_', '-')} <value>`)
    expect(stdout).toContain(env)
  }
})

test('a new set-up link invalidates the last one, and none is issued once the owner is set up', async () => {
  const first = await init()
  const { url, started } = await start()
  const second = (await host(['setup-link'])).stdout.trim()
  expect(second).toMatch(new RegExp(`^${url}/setup#`))
  expect(await setUp(first, url)).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('hint: bridge server setup-link'),
  })
  expect(await setUp(second, url)).toMatchObject({ code: 0 })
  expect(await host(['setup-link'])).toMatchObject({ code: 7, stdout: '' })
  expect(await setUp(second, url)).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('already been set up'),
  })
  const { stderr } = await stop(started)
  for (const secret of [first, second].map((link) => link.split('#')[1] ?? '').concat(password)) {
    expect(stderr).not.toContain(secret)
  }
})

test('an owner link signs in once, if there is an owner', async () => {
  const link = await init()
  const { url, started } = await start()
  expect(await host(['owner-link'])).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('hint: bridge server setup-link'),
  })
  await setUp(link, url)
  const { stdout: ownerLink } = await host(['owner-link'])
  const byLink = () => desk.run(['admin', 'login', '--link'], { stdin: ownerLink })
  expect(await byLink()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('signed in as olu (owner)'),
  })
  expect(await byLink()).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('wrong'),
  })
  expect(await desk.run(['admin', 'login', '--link'], { stdin: 'no link at all\n' })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^bridge: this is neither a one-time link nor its token\nhint: /),
  })
  await stop(started)
})

test('a node without owner and open link prints a link at its start, on standard error only', async () => {
  const first = await init()
  tamper(data, (store) => store.exec('DELETE FROM owner_links'))
  const { url, started } = await start()
  const said = await started.said(/set up the owner within 30 minutes: open \S+#\S{43} in a browser/)
  const link = /http:\S+#\S+/.exec(said)?.[0] ?? ''
  expect(link).not.toBe(first)
  expect(await setUp(link, url)).toMatchObject({ code: 0 })
  const { stdout } = await stop(started)
  expect(stdout).not.toContain(link)
})
