/**
 * Installs the hooks of one harness: plans every change, writes the record, then makes the changes.
 *
 * If a file cannot be used, the plan fails and nothing is written. If a change fails, every file has its old
 * or its new bytes, and the record knows both.
 */
import { CommandError } from '../../exit-codes.ts'
import type { HarnessName } from '../harnesses.ts'
import { claudeLayout } from './claude.ts'
import { codexLayout } from './codex.ts'
import { copilotLayout } from './copilot.ts'
import { type Disk, realDisk } from './disk.ts'
import { clearDrafts } from './drafts.ts'
import { geminiLayout } from './gemini.ts'
import type { Choice, Layout, LayoutOf } from './layout.ts'
import { opencodeLayout } from './opencode.ts'
import { applyOwn, missingFolders, type OwnChange, planOwn, removeEmpty } from './own-files.ts'
import { type Machine, placeOf } from './places.ts'
import { type Installation, type OwnRecord, type SharedRecord, sha256, writeRecord } from './record.ts'
import {
  applyChange,
  type Change,
  type Insertion,
  isChange,
  planInsertion,
  planRemoval,
} from './shared-file.ts'

const layouts: Readonly<Record<HarnessName, LayoutOf>> = {
  claude: claudeLayout,
  codex: codexLayout,
  gemini: geminiLayout,
  opencode: opencodeLayout,
  copilot: copilotLayout,
}

export const layoutOf = (harness: HarnessName, machine: Machine, choice: Choice): Layout =>
  layouts[harness](machine, choice)

/** One path that a command changes, for the user. */
export interface Step {
  readonly path: string
  readonly change: 'create' | 'update' | 'same' | 'remove' | 'restore' | 'gone' | 'keep'
}

export interface InstallPlan {
  readonly own: readonly OwnChange[]
  readonly shared: readonly Insertion[]
  /** Files from which an earlier installation's entries go. */
  readonly dropped: readonly Change[]
  readonly made: readonly string[]
  readonly steps: readonly Step[]
}

/** Folders in which files may be replaced, also through links. */
export function insideOf(harness: HarnessName, machine: Machine): string[] {
  const { folder, isNamed } = placeOf(harness, machine)
  return isNamed ? [machine.home, folder] : [machine.home]
}

/** @throws CommandError `conflict` if a file cannot be used */
export async function planInstall(
  layout: Pick<Layout, 'files' | 'shared'>,
  recorded: Installation | undefined,
  inside: readonly string[],
): Promise<InstallPlan> {
  const own = await planOwn(layout.files, recorded?.files ?? [], inside)
  const before = (path: string) => recorded?.shared.find((each) => each.path === path)
  const shared: Insertion[] = []
  for (const file of layout.shared) shared.push(await planInsertion(file, before(file.path), inside))
  const dropped: Change[] = []
  for (const each of recorded?.shared ?? []) {
    if (!layout.shared.some(({ path }) => path === each.path)) dropped.push(await planRemoval(each, inside))
  }
  const created = own.filter(({ change }) => change === 'create').map(({ path }) => path)
  const made = await missingFolders([...created, ...shared.map(({ path }) => path)])
  const steps: Step[] = [
    ...own.map(({ path, change }) => ({ path, change })),
    ...shared.map((each) => ({ path: each.record.path, change: changeOf(each) })),
    ...dropped.map((each) => ({ path: each.path, change: changeOf(each) })),
  ]
  return { own, shared, dropped, made, steps }
}

const changeOf = (change: Change): Step['change'] => {
  if (!isChange(change)) return 'same'
  if (change.before === undefined) return 'create'
  return change.after === undefined ? 'remove' : 'update'
}

/** Fields of the record besides the files. */
export type Facts = Omit<Installation, 'files' | 'made' | 'shared'>

/** Makes the planned changes. Returns the record. */
export async function applyInstall(
  home: string,
  plan: InstallPlan,
  recorded: Installation | undefined,
  { facts, folder, disk = realDisk }: { facts: Facts; folder: string | undefined; disk?: Disk },
): Promise<Installation> {
  const made = [
    ...(recorded?.made ?? []),
    ...plan.made.filter((path) => recorded?.made.includes(path) !== true),
  ]
  const intended: Installation = {
    ...facts,
    files: plan.own.flatMap((change) => ownRecord(change, true)),
    made,
    shared: [...plan.shared.map((each) => intendedRecord(each, recorded)), ...droppedOf(plan, recorded)],
  }
  await writeRecord(home, intended)
  try {
    await clearDrafts(draftedPaths(plan, folder), disk)
    await applyOwn(plan.own, folder, plan.made, disk)
    for (const change of [...plan.shared, ...plan.dropped]) await applyChange(change, disk)
    await removeEmpty(made, disk)
  } catch (cause) {
    throw failed(cause)
  }
  const done: Installation = {
    ...intended,
    files: plan.own.flatMap((change) => ownRecord(change, false)),
    shared: plan.shared.map(({ record }) => record),
  }
  await writeRecord(home, done)
  return done
}

/** Returns every path for which this or an earlier command may have made a draft. */
export const draftedPaths = (
  plan: {
    readonly own: readonly OwnChange[]
    readonly shared: readonly Change[]
    readonly dropped?: readonly Change[]
  },
  folder: string | undefined,
): string[] => [
  ...[...plan.own, ...plan.shared, ...(plan.dropped ?? [])].map(({ path }) => path),
  ...(folder === undefined ? [] : [folder]),
]

function ownRecord({ path, change, text, was }: OwnChange, isIntended: boolean): OwnRecord[] {
  if (text !== undefined)
    return [{ path, sha256: sha256(text), ...(isIntended && change !== 'same' && { was }) }]
  // A file of an earlier installation: it stays recorded until it is removed, and while it is changed.
  return change === 'gone' || (change === 'remove' && !isIntended) || was === null
    ? []
    : [{ path, sha256: was }]
}

/** The former state without its own former state, so that the record does not grow. */
function intendedRecord({ record }: Insertion, recorded: Installation | undefined): SharedRecord {
  const before = recorded?.shared.find(({ path }) => path === record.path)
  if (before === undefined) return record
  const { was: _was, ...state } = before
  return { ...record, was: state }
}

const droppedOf = ({ shared }: InstallPlan, recorded: Installation | undefined): readonly SharedRecord[] =>
  (recorded?.shared ?? []).filter(({ path }) => !shared.some(({ record }) => record.path === path))

/** @returns the error for the user, with what it means for the files */
export function failed(cause: unknown): unknown {
  if (cause instanceof CommandError) return cause
  const { code, path } = cause as NodeJS.ErrnoException
  if (code === undefined) return cause
  return new CommandError('unexpected', `cannot write ${path ?? 'a file'} (${code})`, {
    hint: 'each file has its old or its new content; run the command again',
    cause,
  })
}
