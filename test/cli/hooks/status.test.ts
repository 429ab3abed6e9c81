/** `hooks status` and `doctor` tell what is installed, what ran, and what is broken. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { replaceObject, touch } from '../../../cli/hooks/files.ts'
import { processOf } from '../../../cli/hooks/harness-process.ts'
import { appendLog } from '../../../cli/hooks/hook-log.ts'
import { placesOf } from '../../../cli/hooks/places.ts'
import { Desk } from '../../support/desk.ts'
import { put } from './homes.ts'
import { codexScript, printing, programIn } from './programs.ts'

let desk: Desk
let environment: Record<string, string>
beforeEach(async () => {
  desk = await Desk.make()
  await programIn(desk, 'claude', printing('2.1.330 (Claude Code)'))
  environment = await programIn(desk, 'codex', codexScript)
})
afterEach(() => desk.remove())

const run = (...args: string[]) => desk.run(args, { environment })

async function statusOf(harness: string) {
  const { stdout, stderr, code } = await run('hooks', 'status', '--json')
  expect([code, stderr]).toEqual([0, ''])
  const { harnesses } = JSON.parse(stdout)
  return harnesses.find((each: { harness: string }) => each.harness === harness)
}

test('nothing is installed: the programs that are found, with their versions', async () => {
  const { stdout } = await run('hooks', 'status')
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'Claude Code: 2.1.330, hooks not installed',
    'Codex: 0.169.0, hooks not installed',
    'Gemini CLI: not found in PATH, hooks not installed',
  ])
  expect((await run('doctor')).stdout).not.toMatch(/hooks/)
})

test('an installation that works: profile, last runs, waiter, and the notice with what followed', async () => {
  await run('hooks', 'install', 'claude', '--profile', 'ada')
  const fresh = await statusOf('claude')
  expect(fresh).toMatchObject({ installed: true, faults: [], trusted: null, profile: 'ada' })
  expect(fresh.profiles).toMatchObject([{ profile: 'ada', waiter: null, last_notice: null }])
  const places = placesOf(desk.home, 'ada')
  const at = '2026-01-01T12:00:00.000Z'
  touch(places.ran('claude', 'Stop'), new Date(at))
  const process = processOf(globalThis.process.pid)
  replaceObject(places.waiter, { harness: 'claude', session: 'claude-1', process, since: at })
  appendLog(places.log, { at, harness: 'claude', event: 'Stop', outcome: 'noticed', failed: false, ms: 1 })
  const [activity] = (await statusOf('claude')).profiles
  expect(activity).toMatchObject({
    events: { Stop: at, SessionStart: null },
    waiter: { pid: process.pid, since: at },
    last_notice: { at, event: 'Stop', read: false },
  })
  touch(places.read, new Date('2026-01-01T12:00:09.000Z'))
  replaceObject(places.waiter, {
    harness: 'claude',
    session: 'claude-1',
    process: { pid: 2 ** 22 + 1 },
    since: at,
  })
  const [later] = (await statusOf('claude')).profiles
  expect(later).toMatchObject({ waiter: null, last_notice: { read: true } })
  expect((await run('hooks', 'status')).stdout).toMatch(
    /profile ada\n {2}last runs: Stop 2026-01-01T12:00:00Z\n {2}no waiter\n {2}last notice .* was read after it/,
  )
})

test('Codex: whether it trusts the hooks', async () => {
  await run('hooks', 'install', 'codex')
  expect(await statusOf('codex')).toMatchObject({ trusted: false })
  await run('hooks', 'install', 'codex', '--trust')
  expect(await statusOf('codex')).toMatchObject({ trusted: true })
  environment = { PATH: '/nowhere' }
  expect(await statusOf('codex')).toMatchObject({ trusted: null, program: null })
})

test('a path or a file that is gone or changed is a fault, also for doctor', async () => {
  await run('hooks', 'install', 'claude')
  await run('hooks', 'install', 'copilot')
  expect((await run('doctor')).stdout).toMatch(/ok +hooks +installed for Claude Code/)
  const record = join(desk.home, 'hooks', 'claude.json')
  const text = await readFile(record, 'utf8')
  await put(
    record,
    text.replace(/"node": ".*"/, '"node": "/gone/node"').replace(/"program": ".*"/, '"program": "/gone/b"'),
  )
  const folder = join(desk.folder, '.claude/skills/agent-bridge')
  await put(join(folder, 'SKILL.md'), 'mine')
  await rm(join(folder, '.mcp.json'))
  await put(join(desk.folder, '.copilot/mcp-config.json'), '{}')
  expect((await statusOf('claude')).faults).toEqual([
    'Node of its hooks is gone: /gone/node',
    'the program of its hooks is gone: /gone/b',
    `a file of it is gone: ${join(folder, '.mcp.json')}`,
    `a file of it was changed: ${join(folder, 'SKILL.md')}`,
  ])
  expect((await statusOf('copilot')).faults).toEqual([
    `an entry of it is missing: ${join(desk.folder, '.copilot/mcp-config.json')}`,
  ])
  const { stdout } = await run('doctor')
  expect(stdout).toMatch(
    /problem +hooks +Claude Code: Node of its hooks is gone: \/gone\/node; bridge hooks install/,
  )
})
