/** `hooks install codex --trust` trusts our hooks and no others. No other command writes trust. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Desk } from '../../support/desk.ts'
import { put, treeOf } from './homes.ts'
import { codexScript, printing, programIn } from './programs.ts'

const theirs = { hooks: [{ type: 'command', command: 'beep', timeout: 5 }] }

let desk: Desk
let environment: Record<string, string>
beforeEach(async () => {
  desk = await Desk.make()
  environment = await programIn(desk, 'codex', codexScript)
  await put(join(desk.folder, '.codex/hooks.json'), JSON.stringify({ hooks: { Stop: [theirs] } }))
  await put(join(desk.folder, '.codex/config.toml'), '# mine\nmodel = "x"\n')
})
afterEach(() => desk.remove())

const run = (...args: string[]) => desk.run(['hooks', ...args], { environment })

async function trusted(): Promise<string[]> {
  const config = parse(await readFile(join(desk.folder, '.codex/config.toml'), 'utf8'))
  const { state = {} } = (config.hooks ?? {}) as { state?: object }
  return Object.keys(state).map((key) => key.replace(/^.*hooks\.json:/, ''))
}

test('without --trust, no trust is written, and the user is told to open /hooks', async () => {
  const { code, stderr } = await run('install', 'codex')
  expect([code, await trusted()]).toEqual([0, []])
  expect(stderr).toMatch(/open \/hooks in Codex/)
})

test('--trust trusts the six hooks of ours, not the one before them', async () => {
  const before = await treeOf(desk.folder)
  const { code, stderr } = await run('install', 'codex', '--trust')
  expect([code, stderr]).toEqual([0, expect.stringMatching(/Codex trusts the hooks of agent-bridge/)])
  expect(stderr).not.toMatch(/open \/hooks/)
  const ours = ['post_tool_use:0:0', 'session_end:0:0', 'session_start:0:0', 'session_start:1:0', 'stop:1:0']
  expect((await trusted()).sort()).toEqual([...ours, 'user_prompt_submit:0:0'])
  const installed = await treeOf(desk.folder)
  await run('install', 'codex')
  expect(await treeOf(desk.folder)).toEqual(installed)
  await run('install', 'codex', '--trust')
  expect(await treeOf(desk.folder)).toEqual(installed)
  await run('uninstall', 'codex')
  expect(await treeOf(desk.folder)).toEqual(before)
})

test('trust ends when the hooks change', async () => {
  await run('install', 'codex', '--trust')
  const moved = join(desk.folder, '.codex/hooks.json')
  const text = await readFile(moved, 'utf8')
  await put(moved, text.replace('"timeout":10', '"timeout":11'))
  const { code, stderr } = await run('install', 'codex')
  expect([code, await trusted()]).toEqual([0, []])
  expect(stderr).toMatch(/open \/hooks/)
})

test('--trust is refused, with nothing written, where it means nothing', async () => {
  const before = await treeOf(desk.folder)
  expect((await run('install', 'claude', '--trust')).code).toBe(2)
  environment = { PATH: '/nowhere' }
  const { code, stderr } = await run('install', 'codex', '--trust')
  expect([code, stderr]).toEqual([3, expect.stringMatching(/no codex in PATH/)])
  expect(await treeOf(desk.folder)).toEqual(before)
})

test('a Claude Code that is too old is refused with its version; an unknown version is not', async () => {
  const before = await treeOf(desk.folder)
  environment = await programIn(desk, 'claude', printing('2.1.150 (Claude Code)'))
  const { code, stderr } = await run('install', 'claude')
  expect([code, stderr]).toEqual([7, expect.stringMatching(/Claude Code 2\.1\.150 is too old.*2\.1\.224/)])
  expect(await treeOf(desk.folder)).toEqual(before)
  await programIn(desk, 'claude', printing('2.1.224 (Claude Code)'))
  expect((await run('install', 'claude')).code).toBe(0)
  await programIn(desk, 'claude', printing('no version'))
  expect((await run('install', 'claude')).code).toBe(0)
})
