/**
 * Files that somebody else changed or made, links, folders with a profile of their own, and old
 * installations.
 */
import { chmod, link, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sha256 } from '../../../cli/hooks/install/record.ts'
import { chosenProfile } from '../../../cli/hooks/install-record.ts'
import { takeLock } from '../../../sdk/storage/lock.ts'
import { Desk } from '../../support/desk.ts'
import { put, treeOf } from './homes.ts'

let desk: Desk
let before: Record<string, string>
beforeEach(async () => {
  desk = await Desk.make()
  before = await treeOf(desk.folder)
})
afterEach(() => desk.remove())

const run = (...args: string[]) => desk.run(['hooks', ...args])
const ours = (...parts: string[]) => join(desk.folder, '.claude/skills/agent-bridge', ...parts)
const record = async (harness: string) =>
  JSON.parse(await readFile(join(desk.home, 'hooks', `${harness}.json`), 'utf8'))

test('a changed file of ours stays at uninstall and is named; the rest goes', async () => {
  await run('install', 'claude')
  await writeFile(ours('SKILL.md'), 'my own words\n')
  const { code, stdout, stderr } = await run('uninstall', 'claude')
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining(`kept, because it was changed: ${ours('SKILL.md')}`),
  ])
  expect(stderr).toContain(`${ours()} stays, because it is not empty`)
  expect(Object.keys(await treeOf(ours()))).toEqual(['/', 'SKILL.md'])
})

test('an install does not replace a changed file, nor a folder that is not ours', async () => {
  await run('install', 'claude')
  await writeFile(ours('SKILL.md'), 'my own words\n')
  const changed = await treeOf(desk.folder)
  const again = await run('install', 'claude', '--no-mcp')
  expect([again.code, again.stderr]).toEqual([
    7,
    expect.stringMatching(/SKILL\.md was changed since .*nothing was written/),
  ])
  await rm(join(desk.home, 'hooks', 'claude.json'))
  const foreign = await run('install', 'claude')
  expect([foreign.code, foreign.stderr]).toEqual([
    7,
    expect.stringMatching(/SKILL\.md is not ours; nothing was/),
  ])
  expect(await treeOf(desk.folder)).toEqual(changed)
})

test('an install after our folder was removed makes only the files that it needs now', async () => {
  await run('install', 'claude', '--no-mcp')
  const without = await treeOf(ours())
  await run('install', 'claude')
  await rm(ours(), { recursive: true })
  expect((await run('install', 'claude', '--no-mcp')).code).toBe(0)
  expect(await treeOf(ours())).toEqual(without)
  await run('uninstall', 'claude')
  expect(await treeOf(desk.folder)).toEqual(before)
})

test.each(['.codex', '.codex/config.toml', '.claude/skills'])(
  '%s as a link out of the home is refused',
  async (path) => {
    const outside = await Desk.make()
    try {
      await put(join(outside.folder, 'config.toml'), 'a = 1\n')
      await mkdir(join(desk.folder, path, '..'), { recursive: true })
      await symlink(
        path.endsWith('.toml') ? join(outside.folder, 'config.toml') : outside.folder,
        join(desk.folder, path),
      )
      const linked = [await treeOf(desk.folder), await treeOf(outside.folder)]
      const { code, stderr } = await run('install', path.startsWith('.codex') ? 'codex' : 'claude')
      expect([code, stderr]).toEqual([
        7,
        expect.stringMatching(/leads out of the home folder.*nothing was written/),
      ])
      expect([await treeOf(desk.folder), await treeOf(outside.folder)]).toEqual(linked)
    } finally {
      await outside.remove()
    }
  },
)

test('a folder that CODEX_HOME names may be outside of the home', async () => {
  const outside = await Desk.make()
  try {
    const environment = { CODEX_HOME: join(outside.folder, 'codex') }
    expect((await desk.run(['hooks', 'install', 'codex'], { environment })).code).toBe(0)
    expect(Object.keys(await treeOf(environment.CODEX_HOME)).sort()).toEqual([
      '/',
      'config.toml',
      'hooks.json',
    ])
    expect((await desk.run(['hooks', 'uninstall', 'codex'], { environment })).code).toBe(0)
    expect(Object.keys(await treeOf(outside.folder))).toEqual(['/'])
  } finally {
    await outside.remove()
  }
})

test('uninstall refuses a shared file that cannot be told apart, and writes nothing', async () => {
  await put(join(desk.folder, '.codex/config.toml'), 'model = "x"\n')
  await run('install', 'codex')
  const config = join(desk.folder, '.codex/config.toml')
  const text = await readFile(config, 'utf8')
  for (const edited of [
    text.replace('approval_mode = "approve"', 'approval_mode="prompt"'),
    `${text}= broken`,
  ]) {
    await writeFile(config, edited)
    const tree = await treeOf(desk.folder)
    const { code, stderr } = await run('uninstall', 'codex')
    expect([code, stderr]).toEqual([7, expect.stringMatching(/config\.toml .*nothing was written/)])
    expect(await treeOf(desk.folder)).toEqual(tree)
  }
})

test("Copilot's own servers of the user stay, also one that was added after the installation", async () => {
  const path = join(desk.folder, '.copilot/mcp-config.json')
  const mine = { docs: { type: 'local', command: 'docs-mcp', args: [], tools: ['*'] } }
  const text = JSON.stringify({ theme: 'dark', mcpServers: mine }, null, '\t')
  await put(path, text)
  const linked = await treeOf(desk.folder)
  const servers = async () => JSON.parse(await readFile(path, 'utf8')).mcpServers
  await run('install', 'copilot')
  expect(await servers()).toEqual({ ...mine, 'agent-bridge': expect.objectContaining({ type: 'local' }) })
  await run('uninstall', 'copilot')
  expect(await treeOf(desk.folder)).toEqual(linked)

  await run('install', 'copilot')
  const later = { command: 'later-mcp' }
  const { mcpServers, ...rest } = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify({ ...rest, mcpServers: { ...mcpServers, later } }, null, 2))
  expect((await run('uninstall', 'copilot')).code).toBe(0)
  expect(await readFile(path, 'utf8')).toBe(
    JSON.stringify({ theme: 'dark', mcpServers: { ...mine, later } }, null, 2),
  )
})

test.each([
  ['codex', '.codex/config.toml', 'model = "x"\n'],
  ['codex', '.codex/hooks.json', '{}\n'],
  ['copilot', '.copilot/mcp-config.json', '{"mcpServers":{}}\n'],
])(
  '%s: %s that became read-only is not changed by uninstall, and is afterwards',
  async (harness, file, text) => {
    const path = join(desk.folder, file)
    await put(path, text)
    const original = await treeOf(desk.folder)
    await run('install', harness)
    await chmod(path, 0o400)
    const installed = await treeOf(desk.folder)
    const { code, stderr } = await run('uninstall', harness)
    expect([code, stderr]).toEqual([7, expect.stringContaining(`${path} is read-only; nothing was written`)])
    expect(await treeOf(desk.folder)).toEqual(installed)
    await chmod(path, 0o644)
    expect((await run('uninstall', harness)).code).toBe(0)
    expect(await treeOf(desk.folder)).toEqual(original)
  },
)

test('a shared file with a second name is refused: a replacement would leave that name with the old bytes', async () => {
  const path = join(desk.folder, '.codex/config.toml')
  await put(path, 'model = "x"\n')
  await link(path, join(desk.folder, 'second.toml'))
  const tree = await treeOf(desk.folder)
  const { code, stderr } = await run('install', 'codex')
  expect([code, stderr]).toEqual([
    7,
    expect.stringContaining(`${path} has a second name (hard link); nothing was written`),
  ])
  expect(await treeOf(desk.folder)).toEqual(tree)
})

test('an entry that the user changed or removed is still no obstacle', async () => {
  const path = join(desk.folder, '.codex/hooks.json')
  const mine = { Stop: [{ hooks: [{ type: 'command', command: 'beep' }] }] }
  await put(path, JSON.stringify({ hooks: mine }))
  await run('install', 'codex')
  const { hooks } = JSON.parse(await readFile(path, 'utf8'))
  hooks.Stop[1].hooks[0].timeout = 99
  delete hooks.PostToolUse
  await writeFile(path, JSON.stringify({ hooks }))
  expect((await run('uninstall', 'codex')).code).toBe(0)
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ hooks: mine })
})

test('an older installation with other files and another program is replaced', async () => {
  await run('install', 'claude', '--profile', 'ada')
  const old = await record('claude')
  const path = ours('old.json')
  await put(path, '{}')
  const sha256 = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'
  await put(
    join(desk.home, 'hooks/claude.json'),
    JSON.stringify({ ...old, program: '/old', files: [...old.files, { path, sha256 }] }),
  )
  expect((await run('install', 'claude')).stdout).toContain(`removed: ${path}`)
  expect(await record('claude')).toEqual({ ...old, installed_at: expect.any(String) })
  await run('uninstall', 'claude')
  expect(await treeOf(desk.folder)).toEqual(before)
})

test.each(['claude', 'gemini', 'opencode', 'copilot'])(
  'an older text of our files for %s is updated by install, and removed by uninstall',
  async (harness) => {
    const age = async () => {
      const { files, ...rest } = await record(harness)
      for (const each of files) {
        const text = `${await readFile(each.path, 'utf8')}\n`
        await writeFile(each.path, text)
        each.sha256 = sha256(text)
      }
      await writeFile(join(desk.home, 'hooks', `${harness}.json`), JSON.stringify({ ...rest, files }))
      return files.map(({ path }: { path: string }) => path)
    }
    await run('install', harness)
    const current = await treeOf(desk.folder)
    const paths = await age()
    expect(paths).not.toEqual([])
    const { code, stdout } = await run('install', harness)
    expect([code, stdout.trim().split('\n')]).toEqual([
      0,
      expect.arrayContaining(paths.map((path: string) => `updated: ${path}`)),
    ])
    expect(await treeOf(desk.folder)).toEqual(current)
    await age()
    expect((await run('uninstall', harness)).code).toBe(0)
    expect(await treeOf(desk.folder)).toEqual(before)
  },
)

test("Claude Code's empty data folder of the plugin goes too", async () => {
  const data = join(desk.folder, '.claude/plugins/data')
  await run('install', 'claude')
  await mkdir(join(data, 'agent-bridge-skills-dir'), { recursive: true })
  await mkdir(join(data, 'other-skills-dir'))
  await run('uninstall', 'claude')
  expect(Object.keys(await treeOf(data))).toEqual(['/', 'other-skills-dir/'])
})

test('--project binds a folder to a profile, for hooks run; uninstall --project ends it', async () => {
  const here = process.cwd()
  await run('install', 'opencode', '--project', '--profile', 'ben')
  const first = await record('opencode')
  expect([first.profile, first.folders]).toEqual([null, { [here]: 'ben' }])
  await run('install', 'opencode', '--profile', 'ada')
  const both = await record('opencode')
  expect([both.profile, both.folders]).toEqual(['ada', { [here]: 'ben' }])
  expect([chosenProfile(both, join(here, 'test')), chosenProfile(both, '/')]).toEqual(['ben', 'ada'])
  expect((await run('uninstall', 'opencode', '--project')).code).toBe(0)
  expect((await record('opencode')).folders).toEqual({})
  expect((await run('uninstall', 'opencode', '--project')).code).toBe(3)
  await run('uninstall', 'opencode')
  expect(await treeOf(desk.folder)).toEqual(before)
})

test('two commands at the same time: the second one is refused', async () => {
  await mkdir(join(desk.home, 'hooks'), { recursive: true })
  const lock = await takeLock(join(desk.home, 'hooks', 'install.lock'))
  try {
    const { code, stderr } = await run('install', 'claude')
    expect([code, stderr]).toEqual([
      7,
      expect.stringMatching(/another hooks install or uninstall is running/),
    ])
    expect(await treeOf(desk.folder)).toEqual(before)
  } finally {
    lock?.release()
  }
})

test.each(['../x', 'a b'])('the profile name %s is refused', async (name) => {
  expect((await run('install', 'claude', '--profile', name)).code).toBe(2)
  expect(await treeOf(desk.folder)).toEqual(before)
})
