/** The output of `npm run build`, used like the installed package. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Project, ts } from 'ts-morph'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { startBridge, type TestBridge } from '../support/bridge.ts'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'published-'))
const dist = join(folder, 'node_modules/agent-bridge/dist')

const node = (...args: string[]) =>
  spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, HOME: folder } })

beforeAll(() => {
  install()
  const built = node(join(root, 'esbuild.config.ts'), dist)
  if (built.status !== 0) throw new Error(built.stderr)
})

afterAll(() => rmSync(folder, { recursive: true }))

/**
 * Installs the package as npm does: without sources, beside its dependencies and the files of a TypeScript
 * project.
 */
function install(): void {
  mkdirSync(dist, { recursive: true })
  cpSync(join(root, 'package.json'), join(dist, '../package.json'))
  mkdirSync(join(folder, 'node_modules/@types'))
  for (const name of [...Object.keys(manifest.dependencies), '@types/node', 'undici-types']) {
    mkdirSync(join(folder, 'node_modules', name, '..'), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
}

describe('bridge', () => {
  test('prints its version', () => {
    const { stdout, stderr, status } = node(join(dist, 'bridge.cjs'), '--version')
    expect({ stdout, stderr, status }).toEqual({ stdout: `${manifest.version}\n`, stderr: '', status: 0 })
  })

  test.each(['14.21.3', '20.20.2', '22.18.0'])(
    'refuses Node %s with one line, before anything else is loaded',
    (old) => {
      const alone = mkdtempSync(join(folder, 'alone-'))
      cpSync(join(dist, 'bridge.cjs'), join(alone, 'bridge.cjs'))
      const pretend = join(alone, 'pretend.cjs')
      writeFileSync(pretend, `Object.defineProperty(process.versions, 'node', { value: '${old}' })`)

      const { stdout, stderr, status } = node('--require', pretend, join(alone, 'bridge.cjs'), 'whoami')
      expect({ stdout, status }).toEqual({ stdout: '', status: 2 })
      expect(stderr).toBe(`bridge: needs Node 22.19 or newer, this is ${old}\n`)

      // Exit 2 of a hook would wake or block a session.
      const hook = ['hooks', 'run', 'claude', 'Stop']
      expect(node('--require', pretend, join(alone, 'bridge.cjs'), ...hook)).toMatchObject({
        stdout: '',
        status: 0,
      })
    },
  )

  test('starts on the oldest supported Node', () => {
    const pretend = join(folder, 'oldest.cjs')
    writeFileSync(pretend, `Object.defineProperty(process.versions, 'node', { value: '22.19.0' })`)
    const { stdout } = node('--require', pretend, join(dist, 'bridge.cjs'), 'send', '--help')
    expect(stdout).toMatch(/^Usage: bridge send/)
  })

  test('is launched by a file that the parser of Node 14 can read', () => {
    const text = readFileSync(join(dist, 'bridge.cjs'), 'utf8')
    expect(text).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(text).not.toMatch(/\?\?=|\|\|=|&&=|#\w+ in |static \{|\bawait\b|\/v[,;)]/)
    expect(Buffer.byteLength(text)).toBeLessThan(4096)
  })

  test('loads neither server nor SDK for its help', () => {
    const { stdout } = node('--input-type=commonjs', '-e', loadedBy(join(dist, 'bridge.cjs')))
    expect(JSON.parse(stdout.split('\n').at(-1) ?? '')).toEqual(['bridge.cjs', 'cli.cjs'])
  })

  test('contains its build information', () => {
    const text = readFileSync(join(dist, 'server.cjs'), 'utf8')
    expect(text).toMatch(/commit: "([0-9a-f]{40}(-changed)?|unknown)", built_at: "\d{4}-\d\d-\d\dT[\d:.]+Z"/)
  })
})

/** A program that runs a file with `--help` and prints, as its last line, the loaded files of its folder. */
const loadedBy = (file: string): string => `
  const { basename, dirname } = require('node:path')
  process.argv[2] = '--help'
  process.on('exit', () => {
    const loaded = Object.keys(require.cache).filter((path) => dirname(path) === dirname(${JSON.stringify(file)}))
    process.stdout.write('\\n' + JSON.stringify(loaded.map((path) => basename(path)).sort()))
  })
  require(${JSON.stringify(file)})
`

describe('the SDK', () => {
  const names = "['Bridge', 'Owner', 'BridgeError', 'LocalError'].map((name) => typeof sdk[name]).join()"
  const classes = 'function,function,function,function'

  test('can be imported', () => {
    const text = `import * as sdk from 'agent-bridge'; process.stdout.write(${names})`
    expect(node('--input-type=module', '-e', text)).toMatchObject({ stdout: classes, stderr: '' })
  })

  test('can be required', () => {
    const text = `const sdk = require('agent-bridge'); process.stdout.write(${names})`
    expect(node('--input-type=commonjs', '-e', text)).toMatchObject({ stdout: classes, stderr: '' })
  })

  test('has the half of the owner for a page', () => {
    const text = `import { openOwner } from 'agent-bridge/browser'; process.stdout.write(typeof openOwner)`
    expect(node('--input-type=module', '-e', text)).toMatchObject({ stdout: 'function', stderr: '' })
  })

  test('hides everything that its index does not export', () => {
    const text =
      "import('agent-bridge/dist/sdk/contract/index.js').catch(({ code }) => process.stdout.write(code))"
    expect(node('-e', text).stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })

  test('is published without the names that only our own programs use', () => {
    const files = readdirSync(join(dist, 'sdk'), { recursive: true }).map(String)
    expect(files).toContain('index.d.ts')
    expect(files.filter((file) => file.includes('program'))).toEqual([])
  })

  describe('has types for strict .mts and .cts files,', () => {
    const files = ['use.mts', 'use.cts']

    beforeAll(() => {
      const use =
        "import { Bridge, BridgeError } from 'agent-bridge'\nexport const made: Bridge | BridgeError | 1 = 1\n"
      const misuse = '// @ts-expect-error: Bridge needs options\nexport const none = new Bridge()\n'
      for (const file of files) writeFileSync(join(folder, file), use + misuse)
    })

    test('from TypeScript 7, which checks every declaration', () => {
      const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
      const checked = node(join(root, 'node_modules/typescript/bin/tsc'), ...flags, ...files)
      expect(checked.stdout).toBe('')
      expect(checked.status).toBe(0)
    })

    test('from TypeScript 5', () => {
      expect(ts.version).toMatch(/^5\./)
      const project = new Project({
        compilerOptions: {
          noEmit: true,
          strict: true,
          module: ts.ModuleKind.NodeNext,
          target: ts.ScriptTarget.ES2024,
          types: ['node'],
          typeRoots: [join(folder, 'node_modules/@types')],
          // TypeScript 7 checks the declarations themselves; TypeScript 5 needs minutes for those of TypeBox.
          skipLibCheck: true,
        },
      })
      project.addSourceFilesAtPaths(files.map((file) => join(folder, file)))
      expect(project.getPreEmitDiagnostics().map((each) => each.getMessageText())).toEqual([])
    })
  })
})

test('the licences of bundled packages are published', () => {
  const text = readFileSync(join(dist, 'LICENSES.txt'), 'utf8')
  for (const name of ['commander', 'preact', 'preact-iso', '@preact/signals', 'typebox'])
    expect(text).toMatch(new RegExp(`^${name}\\n\\n.*MIT`, 'ms'))
})

test('dist contains nothing else', () => {
  expect(readdirSync(dist).sort()).toEqual(
    [
      'LICENSES.txt',
      'bridge.cjs',
      'cli.cjs',
      'client',
      'client.cjs',
      'helper.cjs',
      'hooks.cjs',
      'portal.cjs',
      'reader.cjs',
      'sdk',
      'server.cjs',
    ].sort(),
  )
})

describe('a one-shot command', () => {
  let bridge: TestBridge
  const home = join(folder, 'home')
  const recorder = join(folder, 'recorder.mjs')

  beforeAll(async () => {
    bridge = await startBridge()
    writeFileSync(recorder, recorderText)
    const { id } = await bridge.owner.createAgent(bridge.project.id, 'cleo')
    const code = await bridge.owner.enrollmentCode(bridge.project.id, id)
    expect(await installed(['enroll', '--url', bridge.url], `${code}\n`)).toMatchObject({ code: 0 })
    expect(await installed(['send', 'ada', 'first'])).toMatchObject({ code: 0 })
  })

  afterAll(() => bridge.close())

  /** Runs the installed program. Not with spawnSync, because its node runs in this process. */
  async function installed(args: readonly string[], stdin = '', options = '') {
    const env = { PATH: process.env.PATH, HOME: folder, BRIDGE_HOME: home, NODE_OPTIONS: options }
    const child = spawn(process.execPath, [join(dist, 'bridge.cjs'), ...args], { env })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.stdin.end(stdin)
    child.stdout.resume()
    const [code] = await once(child, 'close')
    return { code, stderr }
  }

  test.each([
    [['--version'], ['bridge.cjs']],
    [
      ['send', '--help'],
      ['bridge.cjs', 'cli.cjs'],
    ],
    [
      ['send', 'ada', 'again'],
      ['bridge.cjs', 'cli.cjs', 'client.cjs'],
    ],
    [['inbox'], ['bridge.cjs', 'cli.cjs', 'client.cjs']],
  ])('%j loads its parts of the program, and no package', async (args, files) => {
    const { code, stderr } = await installed(args, '', `--import=${recorder}`)
    expect(code, stderr).toBe(0)
    const loaded = JSON.parse(/^loaded (.*)$/m.exec(stderr)?.[1] ?? 'null') as string[]
    expect(loaded).toEqual(files)
  })
})

/** Prints the loaded files of the program, and every package, when the program exits. */
const recorderText = `
  import { writeSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ load: (url, context, next) => {
    const [, place] = /node_modules\\/agent-bridge\\/dist\\/(.*)$/.exec(url) ?? /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
    if (place !== undefined) loaded.add(place)
    return next(url, context)
  } })
  process.on('exit', () => writeSync(2, 'loaded ' + JSON.stringify([...loaded].sort()) + '\\n'))`
