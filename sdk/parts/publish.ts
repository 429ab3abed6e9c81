/**
 * Publishing a staged file: verify it as a whole, sync it, link it under its final name.
 *
 * - link(2) never replaces a file, so an existing file of that name stays without a separate check.
 * - The verified bytes are the published bytes: the staged file may not change in between, and the new name
 *   must refer to the opened file.
 * - A crash before the link leaves no file, a crash after it leaves a whole file. The staged name is removed
 *   last.
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
  /** Called immediately before the link, in the same turn of the event loop. False refuses with `expired`. */
  readonly mayPublish?: (() => boolean) | undefined
  /** Aborts the verification. Its reason must be a PartError. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Returns true if the staged bytes have the size and hash of the file.
 *
 * @throws PartError the signal's reason.
 */
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
 * Gives the verified file its final name. If the name already holds the same file, it succeeds.
 *
 * @throws PartError `destination_exists` if another file has the name, `file_changed` if the staged file
 * changed since its
 *   verification, `expired` if `mayPublish` refuses.
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

/** Returns true if the name already holds the file of the manifest. An unsafe file counts as another file. */
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
