/** Faults that are planted in an installation: `bridge hooks verify` names each one, for Claude Code and for Codex. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { has } from './programs.ts'
import { problemsOf, Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await Scene.make()
})
afterAll(() => scene.close())

/** Edits a file for one test. */
async function withEdited(
  path: string,
  edit: (text: string) => string,
  act: () => Promise<void>,
): Promise<void> {
  const whole = join(scene.folder, path)
  const good = readFileSync(whole, 'utf8')
  writeFileSync(whole, edit(good))
  try {
    await act()
  } finally {
    writeFileSync(whole, good)
  }
}

interface Variant {
  readonly harness: 'claude' | 'codex'
  readonly file: string
  /** A change of a file of ours, or of our entry in a file of the user. */
  readonly change: (text: string) => string
  readonly changed: RegExp
  readonly settings: string
  readonly disable: (text: string) => string
  readonly disabled: RegExp
}

const claude: Variant = {
  harness: 'claude',
  file: '.claude/skills/agent-bridge/hooks/hooks.json',
  change: (text) => `${text} `,
  changed: /^files: a file of it was changed: .*hooks\.json; bridge hooks install claude repairs it$/,
  settings: '.claude/settings.json',
  disable: (text) => JSON.stringify({ ...JSON.parse(text), disableAllHooks: true }),
  disabled: /^settings: disableAllHooks is set in .*settings\.json; remove disableAllHooks/,
}

const codex: Variant = {
  harness: 'codex',
  file: '.codex/hooks.json',
  change: (text) => {
    const { hooks } = JSON.parse(text)
    return JSON.stringify({ hooks: { ...hooks, PostToolUse: [] } })
  },
  changed: /^files: an entry of it is missing: .*hooks\.json; bridge hooks install codex repairs it$/,
  settings: '.codex/config.toml',
  // The screen /hooks writes this for a hook that its user disables.
  disable: (text) => text.replaceAll(/^trusted_hash = .*$/gm, '$&\nenabled = false'),
  disabled: /^trust: 6 of 6 hooks are disabled in Codex; open \/hooks in Codex and enable them$/,
}

describe.each([claude, codex])('verify $harness names a fault:', ({ harness, ...variant }) => {
  const found = (exit: number, said: RegExp) => ({ code: exit, found: [expect.stringMatching(said)] })

  test.skipIf(!has(harness))('a file is gone or changed', async () => {
    const more = harness === 'codex' ? ['--trust'] : []
    await scene.run(['hooks', 'install', harness, '--profile', 'cleo', ...more])
    if (!scene.exists(variant.settings)) scene.write(variant.settings, {})
    await withEdited(
      variant.file,
      (text) => text,
      async () => {
        rmSync(join(scene.folder, variant.file))
        expect(await problemsOf(scene, harness)).toEqual(
          found(7, /^files: a file of it is gone: .*hooks\.json/),
        )
      },
    )
    await withEdited(variant.file, variant.change, async () =>
      expect(await problemsOf(scene, harness)).toEqual(found(7, variant.changed)),
    )
  })

  test.skipIf(!has(harness))('the path of Node is wrong', () =>
    withEdited(
      `bridge/hooks/${harness}.json`,
      (text) => JSON.stringify({ ...JSON.parse(text), node: '/nowhere/node' }),
      async () =>
        expect(await problemsOf(scene, harness)).toEqual(
          found(7, /^files: Node of its hooks is gone: \/nowhere\/node/),
        ),
    ),
  )

  test.skipIf(!has(harness))('hooks are disabled', () =>
    withEdited(variant.settings, variant.disable, async () =>
      expect(await problemsOf(scene, harness)).toEqual(found(7, variant.disabled)),
    ),
  )

  test.skipIf(!has(harness))('the node is stopped', () =>
    withEdited(
      'bridge/profiles/cleo/profile.json',
      (text) => JSON.stringify({ ...JSON.parse(text), base_url: 'http://127.0.0.1:1' }),
      async () => {
        const { code, ...problems } = await problemsOf(scene, harness)
        // Without a network the program takes the refusal for that of a sandbox.
        expect([9, 13]).toContain(code)
        expect(problems.found).toEqual([expect.stringMatching(/^node: cleo: .*127\.0\.0\.1:1/)])
      },
    ),
  )

  test.skipIf(!has(harness))('another session holds the profile', async () => {
    const holder = {
      harness,
      session: `${harness}-other`,
      process: { pid: process.pid, started: null },
      since: new Date().toISOString(),
    }
    const path = scene.write('bridge/profiles/cleo/hooks/holder.json', holder)
    expect(await problemsOf(scene, harness)).toEqual({
      code: 6,
      found: [
        `session: cleo is held by another session (${harness}, process ${process.pid}); end that session, then verify again`,
      ],
    })
    rmSync(path)
  })
})

test.skipIf(!has('codex'))('verify codex names one hook that was changed after it was trusted', () =>
  withEdited(
    codex.file,
    (text) => text.replace(/(?<="timeout": *)10\b/, '11'),
    async () =>
      expect(await problemsOf(scene, 'codex')).toEqual({
        code: 7,
        found: [
          expect.stringMatching(/^trust: Codex does not trust 1 of 6 hooks, and skips them; open \/hooks/),
        ],
      }),
  ),
)
