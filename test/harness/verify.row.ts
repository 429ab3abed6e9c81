/** `bridge hooks verify` with the real harnesses: a good installation passes, and each planted fault is named. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { placesOf } from '../../cli/hooks/places.ts'
import type { Ended } from '../support/test-home.ts'
import { has } from './programs.ts'
import { Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await Scene.make()
})
afterAll(() => scene.close())

const verify = (harness: string, ...more: readonly string[]): Promise<Ended> =>
  scene.home.run(['hooks', 'verify', harness, ...more], { environment: scene.environment })

/** The problems, as `check: text; remedy`. */
async function problems(
  harness: string,
): Promise<{ readonly code: number | null; readonly found: string[] }> {
  const { code, stdout } = await verify(harness, '--json')
  const { findings } = JSON.parse(stdout) as {
    findings: { check: string; state: string; text: string; remedy: string }[]
  }
  const broken = findings.filter(({ state }) => state === 'problem')
  return { code, found: broken.map(({ check, text, remedy }) => `${check}: ${text}; ${remedy}`) }
}

const install = (harness: string, ...more: readonly string[]) =>
  scene.run(['hooks', 'install', harness, '--profile', 'cleo', ...more])

describe.skipIf(!has('claude'))('verify claude', () => {
  test('a good installation passes, and leaves nothing behind', async () => {
    await install('claude')
    const { code, stdout, stderr } = await verify('claude', '--from', 'dora')
    expect([code, stderr, stdout]).toEqual([
      0,
      '',
      expect.stringMatching(/ok +harness +Claude Code showed the notice/),
    ])
    expect(stdout).toMatch(/ok +waiter +woke the session after/)
    expect(stdout).toMatch(/ok +answer +dora sees the message acknowledged/)
    const left = readdirSync(placesOf(join(scene.folder, 'bridge'), 'cleo').folder)
    expect(left.filter((name) => name.includes('verify'))).toEqual([])
    await scene.quiet()
  })

  const file = () => join(scene.folder, '.claude/skills/agent-bridge/hooks/hooks.json')

  test.each([
    [
      'a file is gone',
      () => rmSync(file()),
      7,
      /^files: a file of it is gone: .*hooks\.json; .*bridge hooks install claude/,
    ],
    [
      'a file was changed',
      () => writeFileSync(file(), `${readFileSync(file(), 'utf8')} `),
      7,
      /^files: a file of it was changed: .*hooks\.json/,
    ],
  ])('%s', async (_name, plant, exit, said) => {
    const good = readFileSync(file())
    plant()
    try {
      expect(await problems('claude')).toEqual({ code: exit, found: [expect.stringMatching(said)] })
    } finally {
      writeFileSync(file(), good)
    }
  })

  test('the path of Node is wrong', async () => {
    const path = join(scene.folder, 'bridge/hooks/claude.json')
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, JSON.stringify({ ...JSON.parse(good), node: '/nowhere/node' }))
    expect(await problems('claude')).toEqual({
      code: 7,
      found: [expect.stringMatching(/^files: Node of its hooks is gone: \/nowhere\/node/)],
    })
    writeFileSync(path, good)
  })

  test('hooks are disabled in the settings', async () => {
    const path = scene.write('.claude/settings.json', { disableAllHooks: true })
    expect(await problems('claude')).toEqual({
      code: 7,
      found: [
        expect.stringMatching(
          /^settings: disableAllHooks is set in .*settings\.json; remove disableAllHooks/,
        ),
      ],
    })
    rmSync(path)
  })

  test('another process of the profile listens', async () => {
    const listen = scene.home.start(['listen', '--profile', 'cleo'])
    await scene.listening()
    try {
      expect(await problems('claude')).toEqual({
        code: 12,
        found: [expect.stringMatching(/^waiter: the waiter ended at once: another process listens/)],
      })
    } finally {
      listen.child.kill('SIGTERM')
      await listen.ended
    }
  })

  test('another session holds the profile', async () => {
    const { holder } = placesOf(join(scene.folder, 'bridge'), 'cleo')
    const process_ = { pid: process.pid, started: null }
    const since = new Date().toISOString()
    writeFileSync(
      holder,
      JSON.stringify({ harness: 'claude', session: 'claude-other', process: process_, since }),
    )
    expect(await problems('claude')).toEqual({
      code: 6,
      found: [
        `session: cleo is held by another session (claude, process ${process.pid}); end that session, then verify again`,
      ],
    })
    rmSync(holder)
  })

  test('the version is too old', async () => {
    const old = scene.write('old/claude', '#!/bin/sh\necho "2.1.100 (Claude Code)"\n', 0o755)
    const environment = { ...scene.environment, PATH: `${join(old, '..')}:${scene.environment.PATH}` }
    const { code, stderr } = await scene.home.run(['hooks', 'verify', 'claude'], { environment })
    expect([code, stderr]).toEqual([
      7,
      expect.stringMatching(/2\.1\.100 is too old.*\nhint: update Claude Code/),
    ])
  })

  test('the node is stopped', async () => {
    const stopped = join(scene.folder, 'bridge/profiles/cleo/profile.json')
    const good = readFileSync(stopped, 'utf8')
    writeFileSync(stopped, JSON.stringify({ ...JSON.parse(good), base_url: 'http://127.0.0.1:1' }))
    try {
      const { code, found } = await problems('claude')
      // Without a network the program takes the refusal for that of a sandbox.
      expect([9, 13]).toContain(code)
      expect(found).toEqual([expect.stringMatching(/^node: cleo: .*127\.0\.0\.1:1/)])
    } finally {
      writeFileSync(stopped, good)
    }
  })

  test('nothing is installed, and nobody can send', async () => {
    const { code, stderr } = await verify('gemini')
    expect([code, stderr]).toEqual([3, expect.stringContaining('the hooks are not installed for Gemini CLI')])
    const same = await verify('claude', '--from', 'cleo')
    expect([same.code, same.stderr]).toEqual([2, expect.stringContaining('must come from another profile')])
  })
})

describe.skipIf(!has('codex'))('verify codex', () => {
  test('untrusted hooks fail and name /hooks; trusted ones pass', async () => {
    await install('codex')
    expect(await problems('codex')).toEqual({
      code: 7,
      found: [
        expect.stringMatching(
          /^trust: Codex does not trust 6 of 6 hooks, and skips them; open \/hooks in Codex/,
        ),
      ],
    })
    await install('codex', '--trust')
    const { code, stdout, stderr } = await verify('codex', '--from', 'dora')
    expect([code, stderr, stdout]).toEqual([
      0,
      '',
      expect.stringMatching(/ok +harness +Codex showed the notice/),
    ])
    expect(stdout).toMatch(/ok +waiter +woke the session after/)
    await scene.quiet()
    expect(existsSync(join(scene.folder, '.codex/sessions'))).toBe(false)
  })
})

describe.skipIf(!has('claude'))('verify of a disabled agent', () => {
  test('it names the refusal', async () => {
    const { owner, project } = scene.bridge
    const target = `/api/admin/projects/${project.id}/agents/${scene.cleo.id}/state`
    await owner.ok({ target, body: { state: 'disabled' } })
    expect(await problems('claude')).toEqual({ code: 5, found: [expect.stringMatching(/^node: cleo: /)] })
  })
})
