/**
 * A staged file becomes the file: checked whole, synced, linked under its name.
 *
 * - A link refuses to replace: an existing file of the name stays, by construction and not by a check before.
 * - What is linked is what was checked: nothing about the staged file may change in between, and the new name must
 *   mean the very file that is open.
 * - A crash before the link leaves no file, one after it a whole one; the staged name is removed last.
 *
 * Spec §3, Helper upload, all parts committed.
 */
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { eachBlock } from './blocks.ts'
import { type Folder, isSameFile } from './folder.ts'
import { diskRefusal, PartError } from './part-error.ts'
import type { StagedManifest } from './staged-manifest.ts'
import { StoredFile } from './stored.ts'

export interface PublishOptions {
  /** Asked in the same turn as the name is made. */
  readonly mayPublish?: (() => boolean) | undefined
  /** Its reason, a PartError, ends the checking. */
  readonly signal?: AbortSignal | undefined
}

/** Whether the staged bytes are the file. @throws PartError the signal's reason. */
export async function isWhole(
  staged: FileHandle,
  { size, sha256 }: StagedManifest,
  signal?: AbortSignal,
): Promise<boolean> {
  const hash = createHash('sha256')
  await eachBlock(staged, { offset: 0, size }, (block) => {
    signal?.throwIfAborted()
    hash.update(block)
  })
  return hash.digest('hex') === sha256
}

/**
 * Give the checked file its name.
 *
 * @throws PartError `destination_exists` when another file has it, `file_changed` when the staged file is no longer what
 *   was checked, `expired` when it may not be published any more. The same file under the name is no error.
 */
export async function publish(
  folder: Folder,
  names: { readonly staged: string; readonly filename: string },
  { staged, checked, manifest }: { staged: FileHandle; checked: BigIntStats; manifest: StagedManifest },
  { mayPublish = () => true }: PublishOptions,
): Promise<void> {
  await staged.sync().catch((error: unknown) => {
    throw diskRefusal(error)
  })
  await requireSame(staged, checked)
  if (!mayPublish()) throw new PartError('expired')
  if (!folder.link(names.staged, names.filename)) {
    if (!(await isPublished(folder, manifest))) throw new PartError('destination_exists')
    return
  }
  const linked = await folder.identityOf(names.filename)
  if (linked === undefined || !isSameFile(linked, checked)) {
    await folder.remove(names.filename)
    throw new PartError('unsafe_file')
  }
  await folder.sync()
}

async function requireSame(staged: FileHandle, checked: BigIntStats): Promise<void> {
  const now = await staged.stat({ bigint: true })
  if (now.mtimeNs !== checked.mtimeNs || now.size !== checked.size) throw new PartError('file_changed')
}

/** Whether the name already holds the file of the manifest. What must not be read is another file. */
export async function isPublished(folder: Folder, manifest: StagedManifest): Promise<boolean> {
  let found: StoredFile | undefined
  try {
    found = await StoredFile.find(folder, manifest.filename)
  } catch (error) {
    if (error instanceof PartError && error.code === 'unsafe_file') return false
    throw error
  }
  if (found === undefined) return false
  try {
    return await found.matches(manifest)
  } finally {
    await found.close()
  }
}
