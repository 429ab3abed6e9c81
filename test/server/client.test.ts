/** The node hands out its client package. Contract §11. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { exchange } from '../support/http.ts'
import { builtClient } from '../support/program.ts'

let bridge: TestBridge
let folder: string

beforeAll(async () => {
  bridge = await startBridge()
  folder = mkdtempSync(join(tmpdir(), 'client-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await bridge.close()
})

const get = (target: string, headers: [string, string][] = [], url = bridge.url) =>
  exchange(url, { method: 'GET', target, headers })

interface Description {
  readonly version: string
  readonly file: string
  readonly sha256: string
  readonly size: number
  readonly node: string
}

const described = async () => (await get('/client')).json as Description

test('the description names version, file, hash, size and the oldest Node', async () => {
  const { version, file, sha256, size, node } = await described()
  const { bytes } = await get(`/client/${file}`)
  expect(`>=${node}`).toBe(`${manifest.engines.node}.0`)
  expect({ version, size }).toEqual({ version: manifest.version, size: bytes.length })
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
  expect(file).toBe(`agent-bridge-client-${version}-${sha256.slice(0, 8)}.tgz`)
  expect(size).toBeLessThan(1_500_000)
})

test('the file may be cached for ever, and is not sent again to a client that has it', async () => {
  const { file, sha256 } = await described()
  const { headers } = await get(`/client/${file}`)
  expect(headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    etag: `"${sha256}"`,
    'content-type': 'application/octet-stream',
  })
  const again = await get(`/client/${file}`, [['If-None-Match', `"${sha256}"`]])
  expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, `"${sha256}"`])
  expect((await get(`/client/${file}`, [['If-None-Match', '"other"']])).status).toBe(200)
})

test('credentials of any kind make no difference', async () => {
  const { file } = await described()
  for (const value of ['AgentKey 01890000-0000-7000-8000-000000000000', 'Bearer nonsense']) {
    expect((await get('/client', [['Authorization', value]])).status).toBe(200)
    expect((await get(`/client/${file}`, [['Authorization', value]])).status).toBe(200)
  }
})

test.each(['agent-bridge-client-0.0.0-00000000.tgz', 'package.json', 'a'.repeat(2000), '%2e%2e'])(
  'another file name, such as %s, is not found',
  async (name) => {
    const { status, json, headers } = await get(`/client/${name}`)
    expect([status, (json as { error: string }).error]).toEqual([404, 'not_found'])
    expect(headers['cache-control']).toBe('no-store')
  },
)

describe('a node without a usable package', () => {
  const without = async (clientFolder: string): Promise<void> => {
    const other = await startBridge({ clientFolder })
    try {
      for (const target of ['/client', `/client/${(await described()).file}`]) {
        const { status, json } = await get(target, [], other.url)
        expect([status, json]).toMatchObject([
          503,
          { error: 'unavailable', message: expect.stringContaining('npm run build') },
        ])
      }
    } finally {
      await other.close()
    }
  }

  test('says how to make one', () => without(join(folder, 'nothing')))

  test('does not hand out a file that was cut off', async () => {
    const cut = join(folder, 'cut')
    cpSync(builtClient ?? '', cut, { recursive: true })
    truncateSync(join(cut, readdirSync(cut)[0] ?? ''), 1000)
    await without(cut)
  })
})

describe('the package, unpacked by tar', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, args, {
      cwd: folder,
      encoding: 'utf8',
      env: { HOME: folder, PATH: process.env.PATH },
    })
  const bin = () => join(folder, 'package/dist/bridge.cjs')

  beforeAll(async () => {
    const [file = ''] = readdirSync(builtClient ?? '')
    const { status, stderr } = spawnSync('tar', ['-xzf', join(builtClient ?? '', file), '-C', folder])
    expect([status, String(stderr)]).toEqual([0, ''])
    // An import by name finds it as npm would have put it.
    cpSync(join(folder, 'package'), join(folder, 'node_modules/agent-bridge'), { recursive: true })
    symlinkSync('/nonexistent', join(folder, 'node_modules/undici'))
  })

  test('runs the commands of an agent', () => {
    const { status, stdout, stderr } = run(bin(), 'whoami')
    expect({ status, stdout }).toEqual({ status: 5, stdout: '' })
    expect(stderr).toContain('no identity in the profile default')
    expect(run(bin(), '--version').stdout).toBe(`${manifest.version}\n`)
  })

  test.each([
    ['up'],
    ['server'],
    ['server', 'start'],
    ['server', 'init', '--port', '0'],
    ['server', 'status', '--json'],
  ])('ends "bridge %s %s" with the reason', (...words) => {
    const { status, stdout, stderr } = run(bin(), ...words)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain('this is the client only, which cannot run a node')
  })

  test('has the SDK for import and require, and the helper', () => {
    const names = `['Bridge', 'Owner', 'BridgeError', 'openProfile'].map((name) => typeof sdk[name]).join()`
    const all = 'function,function,function,function'
    const script = `import * as sdk from 'agent-bridge'; console.log(${names})`
    expect(run('--input-type=module', '-e', script).stdout).toBe(`${all}\n`)
    expect(run('-e', `const sdk = require('agent-bridge'); console.log(${names})`).stdout).toBe(`${all}\n`)
    expect(run(bin(), 'helper', 'manifest', bin(), '--mode', 'download').stdout).toMatch(/^[0-9a-f]{64}\n$/)
  })

  test('depends on nothing, and has the licence of each package that is inside', () => {
    const read = run(
      '-p',
      `const { readFileSync } = require('node:fs')
       const { dependencies, bundleDependencies, bin } = JSON.parse(readFileSync('package/package.json', 'utf8'))
       JSON.stringify({ dependencies, bundleDependencies, bin, text: readFileSync('package/LICENSES.txt', 'utf8') })`,
    )
    const { text, ...rest } = JSON.parse(read.stdout) as { text: string }
    expect(rest).toEqual({ bin: manifest.bin })
    for (const name of ['age-encryption', 'commander', 'conf', 'eventsource', 'undici', 'ws'])
      expect(text).toMatch(new RegExp(`^${name}\n\n`, 'm'))
  })
})
