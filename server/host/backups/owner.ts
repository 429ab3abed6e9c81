/** The owner of files in the data folder. */
import { lchownSync, statSync } from 'node:fs'

/**
 * Gives files the owner of the data folder, because root may restore for a server that runs as another user.
 * That user may write to the folder, so no link is followed.
 */
export function chownLikeFolder(data: string, paths: readonly string[]): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(data)
  for (const path of paths) lchownSync(path, uid, gid)
}
