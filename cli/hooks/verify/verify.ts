/** The work of `bridge hooks verify`: four stages, each of which runs only if those before it found no problem. */
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { type Finding, ok, report } from '../../failures/findings.ts'
import { profilePaths, readProfile, requireProfile } from '../../profile/profile.ts'
import { removeFile } from '../files.ts'
import { type HarnessName, harnesses } from '../harnesses.ts'
import { machineOf } from '../install/machine.ts'
import { readRecord } from '../install/record.ts'
import { findProgram, requireVersion } from '../install/versions.ts'
import { missing } from '../launch/launch.ts'
import { placesOf, sessionBinding } from '../places.ts'
import { contractStage, sessionId } from './contract.ts'
import { liveStage } from './live.ts'
import { realStage } from './real.ts'
import type { VerifyScene } from './scene.ts'
import { staticStage } from './static.ts'

export interface VerifyOptions {
  readonly profile?: string
  readonly from?: string
  readonly inPlace?: true
}

export async function verify(
  context: CliContext,
  harness: HarnessName,
  options: VerifyOptions,
): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'agent-bridge-verify-'))
  try {
    const { scene, version } = await sceneOf(context, harness, { ...options, scratch })
    const findings: Finding[] = [
      ok('version', `${harnesses[harness].title} ${version ?? 'of an unknown version'}`),
    ]
    const mark = () => `m${context.random(8).toString('hex')}`
    const stages = [
      staticStage,
      contractStage,
      (it: VerifyScene) => {
        // The second stage told the session of older messages, so their next notice would wait.
        removeTraces(it)
        return liveStage(it, mark())
      },
      (it: VerifyScene) => realStage(it, mark()),
    ]
    try {
      for (const stage of stages) {
        findings.push(...(await stage(scene)))
        context.signal.throwIfAborted()
        if (findings.some(({ state }) => state === 'problem')) break
      }
    } finally {
      removeTraces(scene)
    }
    report(context, findings)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function sceneOf(
  context: CliContext,
  harness: HarnessName,
  { profile: typed, from, inPlace, scratch }: VerifyOptions & { readonly scratch: string },
): Promise<{ readonly scene: VerifyScene; readonly version: string | undefined }> {
  const { home, environment, clock, signal } = context
  const installed = await readRecord(home, harness)
  if (installed === undefined)
    throw new CommandError('not_found', `the hooks are not installed for ${harnesses[harness].title}`, {
      hint: `bridge hooks install ${harness} installs them`,
    })
  const machine = machineOf(context)
  const found = await findProgram(harness, machine)
  if (found === undefined) throw missing(harness)
  requireVersion(harness, found.version)
  const profile = typed ?? (environment.BRIDGE_PROFILE || installed.profile || 'default')
  const { identity } = await requireProfile(profilePaths(home, profile), profile)
  const sender = await senderOf(home, profile, from)
  const scene: VerifyScene = {
    ...{ harness, installed, machine, home, profile, sender, scratch, signal },
    agentId: identity.agent.id,
    program: found.path,
    inPlace: inPlace === true,
    nowMs: () => clock().getTime(),
  }
  return { scene, version: found.version }
}

/** Returns the profile that sends: the given one, else the only other one. */
async function senderOf(home: string, profile: string, from: string | undefined): Promise<string> {
  if (from === profile)
    throw new CommandError('usage', 'the test messages must come from another profile', {
      hint: '--from names one of another agent in the same project',
    })
  if (from !== undefined) {
    await requireProfile(profilePaths(home, from), from)
    return from
  }
  const names = readdirSync(dirname(profilePaths(home, profile).folder)).filter((name) => name !== profile)
  const others: string[] = []
  for (const name of names) {
    const stored = await readProfile(profilePaths(home, name)).catch(() => undefined)
    if (stored !== undefined) others.push(name)
  }
  const [only] = others
  if (only !== undefined && others.length === 1) return only
  throw new CommandError('usage', 'a second profile has to send the test messages', {
    hint:
      others.length === 0
        ? 'bridge enroll --url URL --profile NAME creates one, with a code from the owner'
        : `--from names one of ${others.join(', ')}`,
  })
}

/** Removes the files of the hooks about the sessions of this verification. */
function removeTraces({ home, harness, profile }: VerifyScene): void {
  const places = placesOf(home, profile)
  const name = `${harness}-${sessionId}`
  for (const path of [
    places.ledger(name),
    places.turn(name),
    places.empty(name),
    places.looked(name),
    sessionBinding(home, name),
  ])
    removeFile(path)
}
