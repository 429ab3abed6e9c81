/** The work of `bridge hooks install`: reads the machine and the record, plans, applies, prints. */
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CliContext } from '../../context.ts'
import { profilePaths, readProfile } from '../../profile/profile.ts'
import type { HarnessName } from '../harnesses.ts'
import { applyInstall, type Facts, insideOf, layoutOf, planInstall } from './install.ts'
import type { Choice } from './layout.ts'
import { machineOf } from './machine.ts'
import type { Machine } from './places.ts'
import { alone, type Installation, readRecord } from './record.ts'
import { printSteps } from './steps.ts'
import { findProgram, remarkOn, requireVersion } from './versions.ts'

export interface HooksInstallOptions {
  readonly profile?: string
  readonly project?: true
  readonly dryRun?: true
  /** False: no MCP server. */
  readonly mcp: boolean
  readonly allow: 'read' | 'none'
}

export async function runInstall(
  context: CliContext,
  harness: HarnessName,
  options: HooksInstallOptions,
): Promise<void> {
  const machine = machineOf(context)
  const found = await findProgram(harness, machine)
  requireVersion(harness, found?.version)
  const notes = [
    ...(found === undefined
      ? [`no ${harness} was found in PATH, so its version could not be checked`]
      : [remarkOn(harness, found.version)]),
  ].filter((note) => note !== undefined)
  if (options.dryRun === true) return installing(context, harness, options, { machine, notes })
  await alone(context.home, () => installing(context, harness, options, { machine, notes }))
}

async function installing(
  context: CliContext,
  harness: HarnessName,
  options: HooksInstallOptions,
  { machine, notes }: { machine: Machine; notes: readonly string[] },
): Promise<void> {
  const recorded = await readRecord(context.home, harness)
  const facts = await factsOf(context, harness, options, { machine, recorded })
  const layout = layoutOf(harness, machine, choiceOf(facts))
  const inside = insideOf(harness, machine)
  const plan = await planInstall(layout, recorded, inside)
  if (options.dryRun !== true)
    await applyInstall(context.home, plan, recorded, { facts, folder: layout.folder })
  const used = options.project === true ? facts.folders[await here()] : facts.profile
  const remarks = [...notes, ...(await missingIdentity(context, used ?? 'default'))]
  printSteps(context, {
    harness,
    action: 'install',
    dryRun: options.dryRun === true,
    steps: plan.steps,
    profile: facts.profile,
    folders: facts.folders,
    notes: remarks,
    byHand: layout.byHand,
  })
}

const here = () => realpath(resolve('.'))

const choiceOf = ({ mcp, allow, profile }: Facts): Choice => ({
  // Without a default profile, the server would not know which one to use.
  mcpProfile: mcp ? (profile ?? undefined) : undefined,
  allowsReading: allow === 'read',
})

/** Returns what the record will say. A profile that is not named stays as it was. */
async function factsOf(
  { clock, environment, home }: CliContext,
  harness: HarnessName,
  { profile: typed, project, mcp, allow }: HooksInstallOptions,
  { machine, recorded }: { machine: Machine; recorded: Installation | undefined },
): Promise<Facts> {
  const folders = recorded?.folders ?? {}
  const named = typed ?? (environment.BRIDGE_PROFILE || undefined)
  const profile = named ?? recorded?.profile ?? 'default'
  profilePaths(home, profile)
  const isBound = project === true
  return {
    harness,
    profile: isBound ? (recorded?.profile ?? null) : profile,
    folders: isBound ? { ...folders, [await here()]: profile } : folders,
    node: machine.node,
    program: machine.program,
    installed_at: clock().toISOString(),
    mcp,
    allow,
  }
}

async function missingIdentity({ home }: CliContext, profile: string): Promise<string[]> {
  const found = await readProfile(profilePaths(home, profile)).catch(() => undefined)
  if (found !== undefined) return []
  return [`the profile ${profile} has no identity yet: bridge enroll --url URL creates one`]
}
