/** `bridge run`, with programs in place of the harnesses that report how they were started. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { enrolled } from '../../support/profiles.ts'
import { TestHome } from '../../support/test-home.ts'
import { treeOf } from './homes.ts'
import { flagCodexScript, printing, programIn } from './programs.ts'

let bridge: TestBridge
let desk: Desk
let machine: TestHome

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  machine = TestHome.at(desk.folder)
  await enrolled(bridge, desk, 'cleo')
})
afterAll(async () => {
  await machine.remove()
  await bridge.close()
})

/** Prints its arguments and its environment. */
const reporter = (version: string) => `
if (process.argv[2] === '--version') {
  console.log(${JSON.stringify(version)})
  process.exit()
}
console.log(JSON.stringify({ args: process.argv.slice(2), environment: process.env }))
`

interface Reported {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

async function started(
  harness: string,
  script: string,
  more: Record<string, string> = {},
): Promise<Reported> {
  const cache = { XDG_CACHE_HOME: join(desk.home, 'cache') }
  const environment = { ...cache, ...(await programIn(desk, harness, script)), ...more }
  const before = await treeOf(desk.folder)
  const args = ['run', harness, '--profile', 'cleo', '--', '--resume', 'a b']
  const isLate = ({ stderr: text }: { readonly stderr: string }) => text.includes('did not answer within')
  let ended = await machine.run(args, { environment })
  // A busy machine may not let the node answer in time. The harness starts anyway.
  for (let again = 0; isLate(ended) && again < 5; again += 1) ended = await machine.run(args, { environment })
  const { code, stdout, stderr } = ended
  expect([code, stderr]).toEqual([0, ''])
  expect(await treeOf(desk.folder)).toEqual(before)
  return JSON.parse(stdout)
}

const json = async (...path: string[]) => JSON.parse(await readFile(join(...path), 'utf8'))

test('Claude Code gets a plugin with our hooks and tools, and the profile', async () => {
  const { args, environment } = await started('claude', reporter('2.1.330 (Claude Code)'))
  const [option, folder = '', ...rest] = args
  expect([option, rest]).toEqual(['--plugin-dir', ['--resume', 'a b']])
  expect(environment.BRIDGE_PROFILE).toBe('cleo')
  const { hooks } = await json(folder, 'hooks', 'hooks.json')
  expect(Object.keys(hooks)).toContain('SessionStart')
  const { mcpServers } = await json(folder, '.mcp.json')
  expect(mcpServers['agent-bridge'].args.slice(-3)).toEqual(['mcp', '--profile', 'cleo'])
})

test('Codex gets flags, among them trust in exactly our hooks', async () => {
  const { args } = await started(
    'codex',
    `${flagCodexScript} function run() {${reporter('codex-cli 0.169.0')}}`,
  )
  const flags = args.filter((_, at) => args[at - 1] === '-c')
  expect(args.slice(2 * flags.length)).toEqual(['--resume', 'a b'])
  const hooks = flags.filter((flag) => /^hooks\.[A-Z]/.test(flag))
  expect(hooks.map((flag) => flag.slice(0, flag.indexOf('=')))).toEqual([
    'hooks.SessionStart',
    'hooks.UserPromptSubmit',
    'hooks.PostToolUse',
    'hooks.Stop',
    'hooks.SessionEnd',
  ])
  const state = flags.find((flag) => flag.startsWith('hooks.state='))
  expect(state?.match(/trusted_hash/g)).toHaveLength(6)
  expect(state).not.toContain('/hooks.json')
  expect(flags.some((flag) => flag.startsWith('mcp_servers.agent-bridge={'))).toBe(true)
})

test('opencode gets the plugin beside those of the user, and Copilot CLI a plugin folder', async () => {
  const given = { OPENCODE_CONFIG_CONTENT: '{"model":"m","plugin":["mine"]}' }
  const opencode = await started('opencode', reporter('1.18.33'), given)
  const { model, plugin } = JSON.parse(opencode.environment.OPENCODE_CONFIG_CONTENT ?? '')
  expect([model, plugin[0], plugin.length, opencode.args]).toEqual(['m', 'mine', 2, ['--resume', 'a b']])
  expect(await readFile(fileURLToPath(plugin[1]), 'utf8')).toContain('export const AgentBridge')

  const { args } = await started('copilot', reporter('1.0.102'))
  const [option, folder = ''] = args
  expect(option).toBe('--plugin-dir')
  const manifest = await json(folder, 'plugin.json')
  expect(Object.keys((await json(folder, manifest.hooks)).hooks)).toContain('SessionStart')
  expect(Object.keys((await json(folder, manifest.mcpServers)).mcpServers)).toEqual(['agent-bridge'])
})

test('Gemini CLI is started if its hooks are installed for the profile, and refused for another one', async () => {
  const path = join(desk.home, 'hooks', 'gemini.json')
  await mkdir(dirname(path), { recursive: true })
  try {
    await writeFile(path, JSON.stringify({ profile: 'cleo' }))
    const { args, environment } = await started('gemini', reporter('0.61.0'))
    expect([args, environment.BRIDGE_PROFILE]).toEqual([['--resume', 'a b'], 'cleo'])
    await writeFile(path, JSON.stringify({ profile: 'dora', folders: { '/': 'cleo' } }))
    const refused = await machine.run(['run', 'gemini', '--profile', 'cleo'], {
      environment: await programIn(desk, 'gemini', reporter('0.61.0')),
    })
    expect([refused.code, refused.stdout]).toEqual([2, ''])
  } finally {
    await rm(path)
  }
})

test('the harness ends as it likes, and gets signals and standard input', async () => {
  const ends = `if (process.argv[2] === '--version') process.exit()
process.stdin.pipe(process.stdout)
process.on('SIGTERM', () => { console.log('asked to end'); process.exit(42) })
process.stdin.once('data', () => console.log('ready'))
`
  const environment = await programIn(desk, 'claude', ends)
  const running = machine.start(['run', 'claude', '--profile', 'cleo'], { environment })
  running.child.stdin.write('hello\n')
  await running.printed(/ready/)
  running.child.kill('SIGTERM')
  expect(await running.ended).toMatchObject({
    code: 42,
    stdout: expect.stringMatching(/hello\nready\nasked to end|ready\nhello\nasked to end/),
  })

  const killed = await programIn(desk, 'claude', `process.kill(process.pid, 'SIGKILL')\n`)
  expect((await machine.run(['run', 'claude', '--profile', 'cleo'], { environment: killed })).code).toBe(137)
})

test.each([
  [
    'a missing program',
    'claude',
    'cleo',
    undefined,
    3,
    /Claude Code is not installed.*\n.*npm install -g @anthropic-ai\/claude-code/,
  ],
  ['a version that is too old', 'claude', 'cleo', '2.1.100 (Claude Code)', 7, /2\.1\.100 is too old/],
  ['a profile without identity', 'claude', 'nobody', '2.1.330', 5, /no identity in the profile nobody/],
  [
    'Gemini CLI',
    'gemini',
    'cleo',
    '0.61.0',
    2,
    /hint: bridge hooks install gemini --profile cleo, then start it again/,
  ],
])('%s is refused', async (_name, harness, profile, version, exit, said) => {
  const found = version === undefined ? {} : await programIn(desk, harness, printing(version))
  const environment = { PATH: join(desk.home, 'nowhere'), ...found }
  const { code, stderr } = await machine.run(['run', harness, '--profile', profile], { environment })
  expect(code).toBe(exit)
  expect(stderr).toMatch(said)
})

test('a value of the user that our setting cannot join is refused', async () => {
  const environment = {
    ...(await programIn(desk, 'opencode', printing('1.18.33'))),
    OPENCODE_CONFIG_CONTENT: '{ // mine',
  }
  const { code, stderr } = await machine.run(['run', 'opencode', '--profile', 'cleo'], { environment })
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('OPENCODE_CONFIG_CONTENT is set and is no JSON'),
  ])
})

test('Codex that does not list the hooks of the run is not started', async () => {
  const deaf = `if (process.argv[2] === '--version') console.log('codex-cli 0.169.0')
else require('node:fs').appendFileSync(${JSON.stringify(join(desk.folder, 'started'))}, process.argv[2] + '\\n')
`
  await writeFile(join(desk.folder, 'started'), '')
  const environment = await programIn(desk, 'codex', deaf)
  const { code, stderr } = await machine.run(['run', 'codex', '--profile', 'cleo'], { environment })
  expect([code, stderr]).toEqual([1, expect.stringContaining('Codex did not list its hooks')])
  expect(await readFile(join(desk.folder, 'started'), 'utf8')).toBe('app-server\n')
})
