/** Stage 1 of `hooks verify`: files, trust, settings, the node, and the holder of the profile. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Finding, ok } from '../../failures/findings.ts'
import { isAlive } from '../harness-process.ts'
import { harnesses } from '../harnesses.ts'
import { readHolder } from '../holder.ts'
import { listHooks, oursAmong } from '../install/codex-trust.ts'
import { isObject } from '../install/entries.ts'
import { placeOf } from '../install/places.ts'
import { faultsOf } from '../install/status.ts'
import { placesOf } from '../places.ts'
import { bridge, problem, type VerifyScene } from './scene.ts'

export async function staticStage(scene: VerifyScene): Promise<Finding[]> {
  const { harness, installed } = scene
  const findings: Finding[] = []
  for (const fault of await faultsOf(installed))
    findings.push(problem('files', fault, `bridge hooks install ${harness} repairs it`, 'conflict'))
  if (findings.length > 0) return findings
  findings.push(ok('files', 'as they were installed'))
  if (harness === 'codex') findings.push(await codexTrust(scene))
  if (harness === 'claude') findings.push(...(await claudeSettings(scene)))
  findings.push(holder(scene))
  for (const profile of [scene.profile, scene.sender]) findings.push(await node(scene, profile))
  return findings
}

async function codexTrust({ installed, machine, program }: VerifyScene): Promise<Finding> {
  const hooks = installed.shared.find(({ format }) => format === 'json')
  const ours = hooks === undefined ? [] : await oursAmong(await listHooks(program, machine), hooks)
  const isWhole = ours.length === hooks?.entries.length && ours.length > 0
  const untrusted = ours.filter(({ trustStatus }) => trustStatus !== 'trusted')
  const disabled = ours.filter(({ enabled }) => !enabled)
  const count = (these: readonly unknown[]) => `${these.length} of ${ours.length} hooks`
  if (!isWhole)
    return problem(
      'trust',
      'Codex does not find the hooks',
      'bridge hooks install codex repairs it',
      'conflict',
    )
  if (untrusted.length > 0)
    return problem(
      'trust',
      `Codex does not trust ${count(untrusted)}, and skips them`,
      'open /hooks in Codex and trust them, or run bridge hooks install codex --trust',
      'conflict',
    )
  if (disabled.length > 0)
    return problem(
      'trust',
      `${count(disabled)} are disabled in Codex`,
      'open /hooks in Codex and enable them',
      'conflict',
    )
  return ok('trust', 'Codex trusts the hooks')
}

async function claudeSettings({ machine }: VerifyScene): Promise<Finding[]> {
  const { folder } = placeOf('claude', machine)
  const path = join(folder, 'settings.json')
  const text = await readFile(path, 'utf8').catch(() => '{}')
  const settings = parsed(text)
  if (settings?.disableAllHooks !== true) return []
  return [
    problem(
      'settings',
      `disableAllHooks is set in ${path}`,
      'remove disableAllHooks from this file',
      'conflict',
    ),
  ]
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A session that runs would get the notices of the test in place of the test. */
function holder({ home, profile }: VerifyScene): Finding {
  const held = readHolder(placesOf(home, profile))
  if (held === undefined || !isAlive(held.process)) return ok('session', 'no other session uses the profile')
  const title = Object.hasOwn(harnesses, held.harness) ? held.harness : 'harness'
  return problem(
    'session',
    `${profile} is held by another session (${title}, process ${held.process.pid})`,
    'end that session, then verify again',
    'session',
  )
}

/** Asks `bridge doctor`, whose first problem is ours. */
async function node(scene: VerifyScene, profile: string): Promise<Finding> {
  const { code, stdout } = await bridge(scene, profile, ['doctor'])
  if (code === 0) return ok('node', `${profile} can work with its node`)
  const { findings = [] } = (parsed(stdout) ?? {}) as {
    findings?: { check: string; state: string; text: string; remedy: string | null }[]
  }
  const first = findings.find(({ state }) => state === 'problem')
  return problem(
    'node',
    `${profile}: ${first?.text ?? 'bridge doctor failed'}`,
    first?.remedy ?? `bridge doctor --profile ${profile} shows why`,
    exitOf(code),
  )
}

const exits = {
  5: 'authentication',
  6: 'session',
  9: 'unreachable',
  13: 'sandbox',
  14: 'clock_skew',
} as const

const exitOf = (code: number | null) => exits[code as keyof typeof exits] ?? 'unexpected'
