/**
 * Tunnels to the helper of a direct transfer that print anything, nothing or too little, and that never
 * remain afterwards; and helpers that fail to start. Contract §9 "Direct mode".
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CliContext } from '../../cli/context.ts'
import { isPlain, requireWay, startServing } from '../../cli/transfers/direct-helper.ts'
import { addressIn, startTunnel } from '../../cli/transfers/direct-tunnel.ts'
import { manifestText } from '../../sdk/program.ts'
import { isRunning, statOf } from '../support/child-processes.ts'
import { describeBytes, fileOf } from '../support/files.ts'
import { program } from '../support/program.ts'
import { soon } from '../support/waits.ts'

let folder: string
const environment = { PATH: process.env.PATH }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bridge-tunnel-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Writes its id, so that a test can check whether it is running. */
const staying = (file: string) => `sleep 300 & echo $! > ${join(folder, file)}`
async function pidIn(file: string): Promise<number> {
  const pid = Number(await readFile(join(folder, file), 'utf8'))
  if (pid > 1) return pid
  throw new Error(`${file} holds no process id yet`)
}

async function expectGone(file: string): Promise<void> {
  // On a busy machine it may have been ended before it began.
  const pid = await pidIn(file).catch(() => undefined)
  if (pid !== undefined) await vi.waitFor(() => expect(isRunning(pid)).toBe(false), soon)
}

describe('the address of a tunnel', () => {
  test.each<[string, string | undefined]>([
    ['your url is: https://xyz.loca.lt', 'https://xyz.loca.lt'],
    ['|  https://two-words.trycloudflare.com            |', 'https://two-words.trycloudflare.com'],
    ['t=2026 lvl=info msg="started" url=https://abc.ngrok-free.app', 'https://abc.ngrok-free.app'],
    ['{"public_url":"https://abc.example:8443","proto":"https"}', 'https://abc.example:8443'],
    ['abc.lhr.life tunneled with tls termination, https://abc.lhr.life', 'https://abc.lhr.life'],
    ['It is at https://abc.example.', 'https://abc.example'],
    ['https://host.tailnet.ts.net/', 'https://host.tailnet.ts.net'],
    ['\u001b[32mhttps://ABC.Example:443\u001b[0m', 'https://abc.example'],
    ['subject to the Terms of Use (https://www.cloudflare.com/website-terms/), and', undefined],
    ['To manage custom domains go to https://admin.localhost.run/', undefined],
    ['see https://developers.example/docs?x=1 first', undefined],
    ['Web Interface http://127.0.0.1:4040', undefined],
    ['https://user@abc.example', undefined],
    ['https://abc.example#x', undefined],
    ['https://', undefined],
    ['https://-', undefined],
    ['', undefined],
  ])('in %j is %j', (line, address) => {
    expect(addressIn(line)).toBe(address)
  })
})

describe('a tunnel command', () => {
  const start = (command: string, signal = new AbortController().signal, times = {}) =>
    startTunnel({ environment, signal }, command, 8485, times)

  test('gives its address among any other output, and ends with all processes that it started', async () => {
    const noise = 'printf "%070000d" 0; echo; echo "terms: https://terms.example/"'
    const tunnel = await start(`${staying('stays')}; ${noise} >&2; echo at https://a.example:$PORT; wait`)
    expect(tunnel.endpoint).toBe('https://a.example:8485')
    expect(isRunning(await pidIn('stays'))).toBe(true)
    await tunnel.stop()
    await expectGone('stays')
    await tunnel.ended
  })

  test('that ignores the signal to end is killed', async () => {
    const deaf = `trap '' TERM; echo $$ > ${join(folder, 'deaf')}; echo https://a.example; while :; do sleep 1; done`
    const tunnel = await start(`sh -c "${deaf.replaceAll('$$', '\\$\\$')}"`, undefined, { endMs: 100 })
    await tunnel.stop()
    await expectGone('deaf')
  })

  test('that left its process group and holds the output open is not waited for', async () => {
    const command = `setsid sleep 300 & echo $! > ${join(folder, 'left')}; echo https://a.example; wait`
    const tunnel = await start(command, undefined, { endMs: 100 })
    const pid = await pidIn('left')
    onTestFinished(() => void process.kill(pid, 'SIGKILL'))
    await vi.waitFor(() => expect(statOf(pid)?.group).toBe(pid), soon)
    await tunnel.stop()
    await tunnel.ended
    expect(isRunning(pid)).toBe(true)
  })

  test('whose processes may not be signalled is not waited for', async () => {
    const tunnel = await start(`${staying('foreign')}; echo https://a.example; wait`, undefined, { endMs: 1 })
    const { group = 0 } = statOf(await pidIn('foreign')) ?? {}
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    })
    onTestFinished(() => {
      kill.mockRestore()
      if (isRunning(group)) process.kill(-group, 'SIGKILL')
    })
    await tunnel.stop()
    // The watcher ends them, since this test only pretends that it may not.
    await expectGone('foreign')
  })

  test.each([
    ['prints nothing', ''],
    ['prints plain http only', 'echo http://a.example; '],
    ['prints junk', 'head -c 100000 /dev/zero; echo; echo https://; '],
    ['prints an address that it does not end', 'printf https://a.example; '],
  ])('that %s is stopped, and its processes are gone', async (_, printing) => {
    const file = `silent-${printing.length}`
    const given = start(`${printing}${staying(file)}; wait`, undefined, { waitMs: 150 })
    await expect(given).rejects.toMatchObject({
      exit: 'unexpected',
      message: expect.stringContaining('no https'),
    })
    await expectGone(file)
  })

  test.each([
    ['ends well', 'true'],
    ['fails', 'exit 3'],
    ['is not a program', '/nowhere/tunnel'],
    ['is not a shell command', 'if then'],
  ])('that %s before it has an address is reported', async (_, command) => {
    await expect(start(command)).rejects.toMatchObject({
      exit: 'unexpected',
      message: expect.stringContaining('ended before'),
    })
  })

  test('that works in the background continues, and ends with the transfer', async () => {
    const script = `${staying('behind')}; (sleep 300; true) & echo https://a.example`
    const tunnel = await start(script)
    expect(isRunning(await pidIn('behind'))).toBe(true)
    await tunnel.stop()
    await expectGone('behind')
  })

  test('is ended when its sender is interrupted during the start', async () => {
    const interruption = new AbortController()
    const given = start(`${staying('early')}; wait`, interruption.signal)
    await vi.waitFor(() => pidIn('early'), soon)
    interruption.abort()
    await expect(given).rejects.toMatchObject({ exit: 'interrupted' })
    await expectGone('early')
  })
})

describe('an address of the helper', () => {
  test.each<[string, object]>([
    ['none', {}],
    ['two', { tunnel: 'https://a.example=1', tunnelCommand: 'true' }],
    ['plain http that nobody allowed', { tunnel: 'http://127.0.0.1:1=1' }],
    ['plain http to a name', { tunnel: 'http://a.example=1', allowPlain: true }],
    ['plain http to a public address', { tunnel: 'http://203.0.113.7:80=1', allowPlain: true }],
    ['plain http to an address of a carrier', { tunnel: 'http://100.64.0.1=1', allowPlain: true }],
  ])('cannot be %s', async (_, way) => {
    await expect(requireWay(way)).rejects.toMatchObject({ exit: 'usage' })
  })

  test.each<[object, boolean]>([
    [{ tunnel: 'https://a.example=1' }, false],
    [{ tunnel: 'https://a.example=1', allowPlain: true }, false],
    [{ tunnelCommand: 'x', allowPlain: true }, false],
    [{ allowPlain: true }, true],
    [{ tunnel: 'http://192.168.0.2:8080=1', allowPlain: true }, true],
  ])('can be %j; it is plain http: %j', async (way, plain) => {
    await requireWay(way)
    expect(isPlain(way)).toBe(plain)
  })
})

describe('a helper', () => {
  const bytes = fileOf(1000)

  /** Serves a file of the test, as the sender passes it to the helper. */
  async function served(held: Buffer) {
    const place = await mkdtemp(join(folder, 'serving-'))
    const [root, manifest] = [join(place, 'root'), join(place, 'manifest.json')]
    await mkdir(root, { mode: 0o700 })
    await writeFile(join(root, 'a.bin'), held, { mode: 0o600 })
    const named = { version: '1', transfer_id: 'x', mode: 'download', filename: 'a.bin' } as const
    const file = { ...named, ...describeBytes(bytes) }
    await writeFile(manifest, manifestText(file), { mode: 0o600 })
    return { file, manifest, root }
  }

  function context(interruption = new AbortController()): CliContext {
    const { argv } = process
    process.argv = [process.execPath, program]
    onTestFinished(() => {
      process.argv = argv
    })
    const random = (count: number) => Buffer.alloc(count, 7)
    return {
      environment,
      random,
      signal: interruption.signal,
      io: { err: () => {} },
    } as unknown as CliContext
  }

  test('with another file than the offered one exits 15', async () => {
    const given = startServing(context(), await served(fileOf(1000, 9)), { tunnelCommand: 'true' })
    await expect(given).rejects.toMatchObject({
      exit: 'integrity',
      message: expect.stringContaining('changed'),
    })
  })

  test('whose port is in use reports that', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await new Promise<void>((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const given = startServing(context(), await served(bytes), { tunnel: `https://a.example=${port}` })
    await expect(given).rejects.toMatchObject({ exit: 'conflict', message: expect.stringContaining('port') })
  })

  test('ends with a tunnel that has no address', async () => {
    const given = startServing(context(), await served(bytes), {
      tunnelCommand: `echo $PORT > ${join(folder, 'port')}; exit 1`,
    })
    await expect(given).rejects.toMatchObject({ message: expect.stringContaining('ended before') })
    const port = Number(await readFile(join(folder, 'port'), 'utf8'))
    const again = createServer()
    await new Promise<void>((resolve, reject) =>
      again.once('error', reject).listen(port, '127.0.0.1', resolve),
    )
    again.close()
  })

  test('that is aborted during its start ends', async () => {
    const interruption = new AbortController()
    const given = startServing(context(interruption), await served(bytes), { tunnelCommand: 'true' })
    interruption.abort()
    await expect(given).rejects.toMatchObject({ exit: 'interrupted' })
  })
})
