/**
 * `bridge hooks verify` with the real harnesses: a good installation passes. Faults of a running waiter and of
 * credentials are named here, and those of the installation in verify-faults.row.ts.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { placesOf } from '../../cli/hooks/places.ts'
import type { WaiterRecord } from '../../cli/hooks/waiter-record.ts'
import type { Ended } from '../support/test-home.ts'
import { has } from './programs.ts'
import { problemsOf, Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await Scene.make()
})
afterAll(() => scene.close())

const verify = (harness: string, ...more: readonly string[]): Promise<Ended> =>
  scene.home.run(['hooks', 'verify', harness, ...more], { environment: scene.environment })

const problems = (harness: string) => problemsOf(scene, harness)

/** @throws if no waiter has recorded itself */
const pidIn = (waiter: string): number =>
  (JSON.parse(readFileSync(waiter, 'utf8')) as WaiterRecord).process.pid

/** Id of the credential of a profile. */
const credentialOf = (profile: string): string => {
  const stored = JSON.parse(scene.read(`bridge/profiles/${profile}/profile.json`)) as {
    readonly identity: { readonly credential_id: string }
  }
  return stored.identity.credential_id
}

const install = (harness: string, ...more: readonly string[]) =>
  scene.run(['hooks', 'install', harness, '--profile', 'cleo', ...more])

describe.skipIf(!has('claude'))('verify claude', () => {
  test('a good installation passes, and leaves nothing behind', async () => {
    await install('claude')
    // Settings of the user, which the harness must not see.
    const theirs = { type: 'command', command: `touch ${scene.folder}/theirs`, timeout: 5 }
    scene.write('.claude/settings.json', {
      env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1', CLAUDE_CODE_USE_BEDROCK: '1' },
      hooks: { SessionStart: [{ hooks: [theirs] }] },
    })
    // An older message does not hold up the notice of the test.
    await scene.mail()
    const { code, stdout, stderr } = await verify('claude', '--from', 'dora')
    expect([code, stderr, stdout]).toEqual([
      0,
      '',
      expect.stringMatching(/ok +harness +Claude Code showed the notice/),
    ])
    expect(scene.exists('theirs')).toBe(false)
    expect(stdout).toMatch(/ok +waiter +woke the session after/)
    expect(stdout).toMatch(/ok +answer +dora sees the message acknowledged/)
    const left = readdirSync(placesOf(join(scene.folder, 'bridge'), 'cleo').folder)
    expect(left.filter((name) => name.includes('verify'))).toEqual([])
    await scene.quiet()
  })

  test('--in-place uses the settings of the user, but neither their model nor their account', async () => {
    const inPlace = await verify('claude', '--from', 'dora', '--in-place')
    expect([inPlace.code, inPlace.stdout]).toEqual([
      0,
      expect.stringMatching(/ok +harness +Claude Code showed the notice/),
    ])
    expect(scene.exists('theirs')).toBe(true)
    rmSync(join(scene.folder, '.claude/settings.json'))
    await scene.quiet()
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

  test('the waiter is killed', async () => {
    const { waiter } = placesOf(join(scene.folder, 'bridge'), 'cleo')
    const verifying = problems('claude')
    const pid = await vi.waitFor(() => pidIn(waiter), { timeout: 60_000, interval: 20 })
    process.kill(pid, 'SIGKILL')
    expect(await verifying).toEqual({
      code: 1,
      found: [
        'waiter: the waiter was killed (SIGKILL) before it woke the session; find out which program ends it, then verify again',
      ],
    })
    await scene.quiet()
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

  test('--in-place uses the settings of the user, but not their model', async () => {
    await scene.mail()
    const config = join(scene.folder, '.codex/config.toml')
    const good = readFileSync(config, 'utf8')
    const provider = 'name = "theirs"\nbase_url = "http://127.0.0.1:1/v1"\nwire_api = "responses"\n'
    writeFileSync(
      config,
      `model_provider = "theirs"\n[model_providers.theirs]\n${provider}${good}[shell_environment_policy.set]\nTHEIRS = "1"\n`,
    )
    const { code, stdout } = await verify('codex', '--from', 'dora', '--in-place')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ok +harness +Codex showed the notice/)])
    expect(existsSync(join(scene.folder, '.codex/sessions'))).toBe(true)
    writeFileSync(config, good)
    await scene.quiet()
  })
})

describe.each([
  ['gemini', 'Gemini CLI', '.gemini/tmp'],
  ['opencode', 'opencode', '.local/share/opencode/opencode.db'],
  ['copilot', 'Copilot CLI', '.copilot/session-state'],
] as const)('verify %s', (harness, title, sessions) => {
  test.skipIf(!has(harness))('a good installation passes, and leaves nothing behind', async () => {
    await install(harness)
    const { code, stdout, stderr } = await verify(harness, '--from', 'dora')
    expect([code, stderr, stdout]).toEqual([
      0,
      '',
      expect.stringContaining(`${title} showed the notice, read the message and acknowledged it`),
    ])
    expect(scene.exists(sessions)).toBe(false)
    const inPlace = await verify(harness, '--from', 'dora', '--in-place')
    expect([inPlace.code, inPlace.stdout]).toEqual([
      0,
      expect.stringContaining(
        `${title} itself was not started: with your settings it would use your account`,
      ),
    ])
    await scene.run(['hooks', 'uninstall', harness])
    await scene.quiet()
  })
})

describe.skipIf(!has('claude'))('verify names the refusal of', () => {
  /** The finding about a profile, and the exit code. */
  const refusalOf = async (profile: string) => {
    const { code, found } = await problems('claude')
    return [code, found.filter((text) => text.startsWith(`node: ${profile}: `))]
  }

  test('a revoked credential of the sender', async () => {
    const { owner, project } = scene.bridge
    await owner.revoke(project.id, credentialOf('dora'))
    expect(await refusalOf('dora')).toEqual([5, [expect.stringMatching(/credential was revoked.*enrol/)]])
  })

  test('a disabled agent', async () => {
    const { owner, project } = scene.bridge
    const target = `/api/admin/projects/${project.id}/agents/${scene.cleo.id}/state`
    await owner.ok({ target, body: { state: 'disabled' } })
    expect(await refusalOf('cleo')).toEqual([5, [expect.stringMatching(/disabled/)]])
    await owner.ok({ target, body: { state: 'enabled' } })
  })

  test('a revoked credential of the profile', async () => {
    const { owner, project } = scene.bridge
    await owner.revoke(project.id, credentialOf('cleo'))
    expect(await refusalOf('cleo')).toEqual([5, [expect.stringMatching(/credential was revoked.*enrol/)]])
  })
})
