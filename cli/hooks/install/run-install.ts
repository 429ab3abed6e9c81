/** The work of `bridge hooks install`: reads the machine and the record, plans, applies, prints. */
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { enrolledBeside, profilePaths, readProfile } from '../../profile/profile.ts'
import { type HarnessName, harnesses } from '../harnesses.ts'
import { planKeepingTrust, planTrust } from './codex-trust-plan.ts'
import { applyInstall, type Facts, insideOf, layoutOf } from './install.ts'
import type { Choice } from './layout.ts'
import { machineOf } from './machine.ts'
import type { Machine } from './places.ts'
import { alone, type Installation, readRecord } from './record.ts'
import { printSteps } from './steps.ts'
import { type FoundProgram, findProgram, remarkOn, requireVersion } from './versions.ts'

export interface HooksInstallOptions {
  readonly profile?: string
  readonly project?: true
  readonly dryRun?: true
  readonly trust?: true
  /** False: no MCP server. */
  readonly mcp: boolean
  readonly allow: 'read' | 'none'
}

export async function runInstall(
  context: CliContext,
  harness: HarnessName,
  options: HooksInstallOptions,
): Promise<void> {
  const { title } = harnesses[harness]
  if (options.trust === true && harness !== 'codex')
    throw new CommandError('usage', `--trust is for codex: ${title} asks no trust for hooks`)
  const machine = machineOf(context)
  const found = await findProgram(harness, machine)
  requireVersion(harness, found?.version)
  if (options.trust === true && found === undefined)
    throw new CommandError('not_found', 'no codex in PATH, which --trust has to ask', {
      hint: 'install without --trust, then open /hooks in Codex',
    })
  const install = () => installing(context, harness, options, { machine, found })
  if (options.dryRun === true) return install()
  await alone(context.home, install)
}

async function installing(
  context: CliContext,
  harness: HarnessName,
  options: HooksInstallOptions,
  { machine, found }: { machine: Machine; found: FoundProgram | undefined },
): Promise<void> {
  const { home } = context
  const recorded = await readRecord(home, harness)
  const facts = await factsOf(context, harness, options, { machine, recorded })
  const layout = layoutOf(harness, machine, choiceOf(facts))
  const inside = insideOf(harness, machine)
  const { plan, trust } = await planKeepingTrust(layout, recorded, inside)
  const steps = [...plan.steps]
  const notes = [...remarksOn(harness, found), ...(await missingIdentity(context, facts, options))]
  let isTrusted = trust.length > 0
  if (options.dryRun !== true) {
    const { folder } = layout
    const installed = await applyInstall(home, plan, recorded, { facts, folder })
    if (options.trust === true && found !== undefined) {
      const trusting = await planTrust(layout, { codex: found.path, machine, installed, inside, trust })
      await applyInstall(home, trusting, installed, { facts, folder })
      isTrusted = true
      notes.push('Codex trusts the hooks of agent-bridge, and no others by this command')
    }
  }
  const { profile, folders } = facts
  const byHand = isTrusted ? [] : layout.byHand
  const dryRun = options.dryRun === true
  printSteps(context, { harness, action: 'install', dryRun, steps, profile, folders, notes, byHand })
}

function remarksOn(harness: HarnessName, found: FoundProgram | undefined): string[] {
  if (found === undefined) return [`no ${harness} was found in PATH, so its version could not be checked`]
  const remark = remarkOn(harness, found.version)
  return remark === undefined ? [] : [remark]
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

async function missingIdentity(
  { home }: CliContext,
  { folders, profile }: Facts,
  { project }: HooksInstallOptions,
): Promise<string[]> {
  const used = (project === true ? folders[await here()] : profile) ?? 'default'
  const paths = profilePaths(home, used)
  const found = await readProfile(paths).catch(() => undefined)
  if (found !== undefined) return []
  const others = enrolledBeside(paths)
  const choice = others.length === 0 ? '' : `--profile can choose one of ${others.join(', ')}; `
  return [`the profile ${used} has no identity yet: ${choice}bridge enroll --url URL creates one`]
}
