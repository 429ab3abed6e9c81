/** Node's compile cache is kept between runs: who may read it, and that no command depends on it. */
import { execFile } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { builtFolder } from '../support/program.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'bridge-home-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const launcher = join(builtFolder ?? '', 'bridge.cjs')

async function guide(environment: Record<string, string>): Promise<string> {
  const env = { PATH: process.env.PATH, BRIDGE_HOME: join(home, 'none'), ...environment }
  return (await promisify(execFile)(process.execPath, [launcher, 'send', '--help'], { env })).stdout
}

test('a command stores its compiled code for the next one, in a folder of its user only', async () => {
  const first = await guide({ HOME: home })
  const folder = join(home, '.cache/agent-bridge')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  const [version = ''] = readdirSync(folder)
  expect(readdirSync(join(folder, version)).length).toBeGreaterThan(0)
  expect(await guide({ HOME: home })).toBe(first)
})

interface HookRun {
  readonly kept: readonly string[]
  /** Whether the process loaded node:v8, which it needs to compile all functions. */
  readonly hasLoadedV8: boolean
}

/** Runs a hook and returns what its cache then has. */
async function runHook(): Promise<HookRun> {
  const report = join(home, 'modules')
  const reporter = join(home, 'report.cjs')
  const script = `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(report)},
    String(process.moduleLoadList.includes('NativeModule v8'))))`
  writeFileSync(reporter, script)
  const env = { PATH: process.env.PATH, BRIDGE_HOME: join(home, 'none'), HOME: home }
  const args = ['--require', reporter, launcher, 'hooks', 'run', 'claude', 'PostToolUse']
  const hook = promisify(execFile)(process.execPath, args, { env })
  hook.child.stdin?.end('{}')
  expect(await hook).toEqual({ stdout: '', stderr: '' })
  const folder = join(home, '.cache/agent-bridge')
  const [version = ''] = readdirSync(folder)
  const kept = readdirSync(join(folder, version)).map((name) => join(folder, version, name))
  return { kept: kept.toSorted(), hasLoadedV8: readFileSync(report, 'utf8') === 'true' }
}

test('the cache has all functions of the hooks, also those that the first hook did not call', async () => {
  const first = await runHook()
  const isMark = (path: string) => basename(path).startsWith('hooks-')
  const [kept, ...others] = first.kept.filter((path) => !isMark(path))
  expect([others, first.kept.filter(isMark).length]).toEqual([[], 1])
  // Without the functions that V8 compiles at their first call it would have half of the size of its source.
  const source = statSync(join(dirname(launcher), 'hooks.cjs')).size
  expect(statSync(kept ?? '').size).toBeGreaterThan(1.5 * source)
  expect(await runHook()).toEqual({ kept: first.kept, hasLoadedV8: false })
})

test('a hook keeps all functions again after the mark of them was removed', async () => {
  const { kept, hasLoadedV8 } = await runHook()
  for (const path of kept) rmSync(path)
  expect([hasLoadedV8, await runHook()]).toEqual([true, { kept, hasLoadedV8: true }])
})

test('a hook without its code, as in an upgrade, does nothing and leaves no mark', async () => {
  const alone = join(home, 'bridge.cjs')
  copyFileSync(launcher, alone)
  const env = { PATH: process.env.PATH, HOME: home }
  const hook = promisify(execFile)(process.execPath, [alone, 'hooks', 'run', 'claude', 'Stop'], { env })
  expect(await hook).toEqual({ stdout: '', stderr: '' })
  const [version = ''] = readdirSync(join(home, '.cache/agent-bridge'))
  expect(readdirSync(join(home, '.cache/agent-bridge', version))).toEqual([])
})

test('a folder that others may write is not used', async () => {
  const folder = join(home, 'agent-bridge')
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  expect(await guide({ XDG_CACHE_HOME: home })).toContain('bridge send')
  expect(readdirSync(folder)).toEqual([])
})

test('without a home folder, or with one that is not writable, a command works', async () => {
  writeFileSync(join(home, 'file'), '')
  expect(await guide({})).toContain('bridge send')
  expect(await guide({ HOME: join(home, 'file') })).toContain('bridge send')
  expect(readdirSync(home)).toEqual(['file'])
})
