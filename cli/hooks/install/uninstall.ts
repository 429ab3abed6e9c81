/**
 * Removes an installation: restores the user's files, removes ours. A file that somebody changed stays.
 *
 * All changes are planned first. If one file cannot be told apart from our entries, nothing is written.
 */
import { type Disk, realDisk } from './disk.ts'
import { clearDrafts } from './drafts.ts'
import { draftedPaths, failed, type Step } from './install.ts'
import { type OwnChange, planOwnRemoval, removeEmpty } from './own-files.ts'
import { type Installation, removeRecord } from './record.ts'
import { applyChange, isChange, planRemoval, type Removal } from './shared-file.ts'

export interface UninstallPlan {
  readonly own: readonly OwnChange[]
  readonly shared: readonly Removal[]
  readonly steps: readonly Step[]
}

/** @throws CommandError `conflict` if our entries cannot be told apart */
export async function planUninstall(
  recorded: Installation,
  inside: readonly string[],
): Promise<UninstallPlan> {
  const own = await planOwnRemoval(recorded.files)
  const shared: Removal[] = []
  for (const each of recorded.shared) shared.push(await planRemoval(each, inside))
  const steps = [
    ...own.map(({ path, change }) => ({ path, change })),
    ...shared.map((each) => ({ path: each.path, change: changeOf(each) })),
  ]
  return { own, shared, steps }
}

function changeOf(removal: Removal): Step['change'] {
  if (!isChange(removal)) return removal.before === undefined ? 'gone' : 'same'
  if (removal.after === undefined) return 'remove'
  return removal.isWhole ? 'restore' : 'update'
}

/** Makes the planned changes. Returns the folders of ours that stay because they are not empty. */
export async function applyUninstall(
  home: string,
  recorded: Installation,
  plan: UninstallPlan,
  {
    folder,
    aftermath = [],
    disk = realDisk,
  }: { folder?: string | undefined; aftermath?: readonly string[]; disk?: Disk },
): Promise<string[]> {
  try {
    await clearDrafts(draftedPaths(plan, folder), disk)
    for (const change of plan.shared) await applyChange(change, disk)
    for (const { path, change } of plan.own) if (change === 'remove') await disk.removeFile(path)
    const kept = await removeEmpty([...recorded.made, ...aftermath], disk)
    await removeRecord(home, recorded.harness)
    return kept
  } catch (cause) {
    throw failed(cause)
  }
}
