/** The work of `bridge hooks uninstall`. */
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { type HarnessName, harnesses } from '../harnesses.ts'
import { insideOf, layoutOf } from './install.ts'
import { machineOf } from './machine.ts'
import { alone, type Installation, readRecord, writeRecord } from './record.ts'
import { printSteps } from './steps.ts'
import { applyUninstall, planUninstall } from './uninstall.ts'

export interface HooksUninstallOptions {
  readonly project?: true
  readonly dryRun?: true
}

export async function runUninstall(
  context: CliContext,
  harness: HarnessName,
  options: HooksUninstallOptions,
): Promise<void> {
  if (options.dryRun === true) return uninstalling(context, harness, options)
  await alone(context.home, () => uninstalling(context, harness, options))
}

async function uninstalling(
  context: CliContext,
  harness: HarnessName,
  options: HooksUninstallOptions,
): Promise<void> {
  const recorded = await readRecord(context.home, harness)
  if (recorded === undefined) {
    context.output.note(`no hooks of ours are installed for ${harnesses[harness].title}`)
    return
  }
  const left = options.project === true ? await withoutFolder(recorded) : undefined
  if (left !== undefined && isUsed(left)) return unbound(context, harness, options, left)
  const machine = machineOf(context)
  const { folder, aftermath } = layoutOf(harness, machine, { mcpProfile: undefined, allowsReading: false })
  const plan = await planUninstall(recorded, insideOf(harness, machine))
  const kept =
    options.dryRun === true
      ? []
      : await applyUninstall(context.home, recorded, plan, { folder, aftermath: aftermath ?? [] })
  const edited = plan.shared.filter(({ isWhole }) => !isWhole).map(({ path }) => path)
  printSteps(context, {
    harness,
    action: 'uninstall',
    dryRun: options.dryRun === true,
    steps: plan.steps,
    profile: null,
    folders: {},
    notes: [
      ...edited.map((path) => `${path} was edited since the installation: only our entries were removed`),
      ...kept.map((path) => `${path} stays, because it is not empty`),
    ],
    byHand: [],
  })
}

/** @throws CommandError `not_found` if the current folder has no profile of its own */
async function withoutFolder(recorded: Installation): Promise<Installation> {
  const here = await realpath(resolve('.'))
  const { [here]: bound, ...folders } = recorded.folders
  if (bound === undefined) throw new CommandError('not_found', `${here} has no profile of its own`)
  return { ...recorded, folders }
}

const isUsed = ({ profile, folders }: Installation): boolean =>
  profile !== null || Object.keys(folders).length > 0

async function unbound(
  context: CliContext,
  harness: HarnessName,
  { dryRun }: HooksUninstallOptions,
  left: Installation,
): Promise<void> {
  if (dryRun !== true) await writeRecord(context.home, left)
  const { profile, folders } = left
  printSteps(context, {
    harness,
    action: 'uninstall',
    dryRun: dryRun === true,
    steps: [],
    profile,
    folders,
    notes: ['the hooks stay for other folders'],
    byHand: [],
  })
}
