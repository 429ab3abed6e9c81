/** `hooks install` and `hooks uninstall` leave a home as it was, whatever was in it. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { parse } from 'smol-toml'
import { afterEach, describe, expect, test } from 'vitest'
import { harnessNames } from '../../../cli/hooks/harnesses.ts'
import { profilePaths } from '../../../cli/profile/profile.ts'
import { Desk } from '../../support/desk.ts'
import { anyHome, makeHome, put, treeOf } from './homes.ts'

const desks: Desk[] = []
afterEach(async () => {
  for (const desk of desks.splice(0)) await desk.remove()
})

async function emptyHome(): Promise<Desk> {
  const desk = await Desk.make()
  desks.push(desk)
  return desk
}

async function done(desk: Desk, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await desk.run(['hooks', ...args])
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)])
  return stdout
}

describe.each(harnessNames)('%s', (harness) => {
  test('in an empty home: two installs are one, and uninstall removes everything', async () => {
    const desk = await emptyHome()
    const before = await treeOf(desk.folder)
    expect(await done(desk, 'install', harness, '--dry-run')).toMatch(/^would create: /)
    expect(await treeOf(desk.folder)).toEqual(before)
    expect(await done(desk, 'install', harness, '--profile', 'ada')).toMatch(/^created: /)
    const installed = await treeOf(desk.folder)
    expect(installed).not.toEqual(before)
    expect(await done(desk, 'install', harness)).toMatch(/^unchanged: /)
    expect(await treeOf(desk.folder)).toEqual(installed)
    await done(desk, 'uninstall', harness, '--dry-run')
    expect(await treeOf(desk.folder)).toEqual(installed)
    await done(desk, 'uninstall', harness)
    expect(await treeOf(desk.folder)).toEqual(before)
    expect((await desk.run(['hooks', 'uninstall', harness])).stderr).toMatch(/no hooks of ours are installed/)
  })

  test('a second install with other options updates the first', async () => {
    const desk = await emptyHome()
    const before = await treeOf(desk.folder)
    await done(desk, 'install', harness, '--profile', 'ada')
    const first = JSON.stringify(await treeOf(desk.folder))
    await done(desk, 'install', harness, '--no-mcp', '--allow', 'none')
    const second = JSON.stringify(await treeOf(desk.folder))
    expect(first).toContain('--profile')
    expect(second).not.toContain('--profile')
    await done(desk, 'uninstall', harness)
    expect(await treeOf(desk.folder)).toEqual(before)
  })
})

test('install for a profile without identity names the profiles that have one', async () => {
  const desk = await emptyHome()
  const install = () => desk.run(['hooks', 'install', 'claude', '--dry-run'])
  expect((await install()).stderr).toMatch(/^the profile default has no identity yet: bridge enroll /m)
  const { folder } = profilePaths(desk.home, 'ada')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'profile.json'), '{}')
  const { stderr } = await install()
  expect(stderr).toMatch(/identity yet: --profile can choose one of ada; bridge enroll /)
})

test('40 homes of Codex are the same after uninstall as before install', async () => {
  await fc.assert(
    fc.asyncProperty(anyHome, async (spec) => {
      const desk = await makeHome(spec)
      try {
        const before = await treeOf(desk.folder)
        await done(desk, 'install', 'codex', '--dry-run')
        expect(await treeOf(desk.folder)).toEqual(before)
        await done(desk, 'install', 'codex', '--profile', 'ada')
        const installed = await treeOf(desk.folder)
        const hooks = JSON.parse((await readCodex(desk, 'hooks.json')).replace('\ufeff', ''))
        expect(JSON.stringify(hooks.hooks.SessionStart)).toMatch(/hooks run codex SessionStart.*codex wait/)
        expect(JSON.stringify(hooks.hooks.Stop)).toContain('hooks run codex Stop')
        const config = parse((await readCodex(desk, 'config.toml')).replace('\ufeff', ''), {
          integersAsBigInt: 'asNeeded',
        })
        expect(config.mcp_servers).toHaveProperty('agent-bridge.args')
        await done(desk, 'install', 'codex')
        expect(await treeOf(desk.folder)).toEqual(installed)
        await done(desk, 'uninstall', 'codex')
        expect(await treeOf(desk.folder)).toEqual(before)
      } finally {
        await desk.remove()
      }
    }),
    { numRuns: 40, seed: 7 },
  )
})

const readCodex = (desk: Desk, name: string): Promise<string> =>
  readFile(join(desk.folder, '.codex', name), 'utf8')

test('40 homes keep what the user adds after the installation', async () => {
  await fc.assert(
    fc.asyncProperty(anyHome, async (spec) => {
      const desk = await makeHome(spec)
      try {
        const files = ['hooks.json', 'config.toml']
        const texts = async () => Promise.all(files.map((name) => readCodex(desk, name).catch(() => '')))
        const [hooks = '', config = ''] = await texts()
        await done(desk, 'install', 'codex')
        const [hooksThen = '', configThen = ''] = await texts()
        const edit = (text: string) => text.replace(/\{/, '{"mine": [1],')
        await writeFile(join(desk.folder, '.codex', 'hooks.json'), edit(hooksThen))
        await writeFile(join(desk.folder, '.codex', 'config.toml'), `${configThen}[mine]\nadded = true\n`)
        const { code, stderr } = await desk.run(['hooks', 'uninstall', 'codex'])
        expect([code, stderr]).toEqual([0, expect.stringMatching(/was edited since the installation/)])
        const [hooksNow = '', configNow = ''] = await texts()
        const plain = (text: string) => JSON.parse(text.replace('\ufeff', '') || '{}')
        expect(plain(hooksNow)).toEqual({ mine: [1], ...plain(hooks) })
        const toml = (text: string) => parse(text.replace('\ufeff', ''), { integersAsBigInt: 'asNeeded' })
        expect(toml(configNow)).toEqual({ ...toml(config), mine: { added: true } })
        expect(configNow).toContain(config.trimEnd())
      } finally {
        await desk.remove()
      }
    }),
    { numRuns: 40, seed: 8 },
  )
})

test.each([
  [
    'joined with a hook of the user',
    (groups: Groups) => [{ hooks: [...handlersOf(groups), { command: 'mine' }] }],
  ],
  ['joined to one group', (groups: Groups) => [{ hooks: handlersOf(groups) }]],
])('hooks that the user has %s are not left behind', async (_what, edit) => {
  const desk = await emptyHome()
  await done(desk, 'install', 'codex')
  const file = JSON.parse(await readCodex(desk, 'hooks.json'))
  file.hooks.SessionStart = edit(file.hooks.SessionStart)
  await put(join(desk.folder, '.codex', 'hooks.json'), JSON.stringify(file))
  for (const action of ['install', 'uninstall']) await expectRefusal(desk, action, /cannot be told apart/)
})

type Groups = { readonly hooks: readonly object[] }[]
const handlersOf = (groups: Groups): object[] => groups.flatMap(({ hooks }) => hooks)

describe('refused, with nothing written', () => {
  const config = '.codex/config.toml'
  test.each<[string, string, string, RegExp]>([
    ['unparsable JSON', '.codex/hooks.json', '{"hooks": {},}', /hooks\.json cannot be parsed/],
    ['unparsable TOML', config, 'a = = b', /config\.toml cannot be parsed/],
    ['text that is not UTF-8', config, 'a = "\ud800"', /is not UTF-8/],
    ['an inline table', config, 'mcp_servers = { x = { command = "y" } }', /our entries do not fit into/],
    ['a server of this name', config, '[mcp_servers.agent-bridge]\ncommand = "z"', /already has mcp_servers/],
    ['hooks that are no object', '.codex/hooks.json', '{"hooks": []}', /hooks is no object/],
    ['an event that is no array', '.codex/hooks.json', '{"hooks": {"Stop": {}}}', /hooks\.Stop is no array/],
  ])('%s', async (_what, path, text, says) => {
    const desk = await emptyHome()
    const bytes = text.includes('\ud800') ? Buffer.from([0x61, 0x3d, 0x22, 0xff, 0x22]) : text
    await put(join(desk.folder, path), bytes as string)
    await expectRefusal(desk, 'install', says)
  })

  test('a read-only file', async () => {
    const desk = await emptyHome()
    await put(join(desk.folder, config), 'a = 1\n', 0o444)
    await expectRefusal(desk, 'install', /is read-only/)
  })
})

async function expectRefusal(desk: Desk, action: string, says: RegExp, harness = 'codex'): Promise<void> {
  const before = await treeOf(desk.folder)
  const { code, stderr } = await desk.run(['hooks', action, harness])
  expect([code, stderr]).toEqual([7, expect.stringMatching(says)])
  expect(stderr).toMatch(/nothing was written/)
  expect(await treeOf(desk.folder)).toEqual(before)
}
