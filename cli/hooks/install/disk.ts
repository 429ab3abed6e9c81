/**
 * Every change that `hooks install` and `hooks uninstall` make outside BRIDGE_HOME goes through this
 * interface. Tests hand in one that fails or stops at a chosen step.
 */
import { lstat, mkdir, open, rename, rm, rmdir } from 'node:fs/promises'

export interface Disk {
  /** Creates one folder. Its parent must exist. */
  makeFolder(path: string): Promise<void>
  /** Creates a file that must not exist, and syncs it. */
  createFile(path: string, bytes: Buffer, as?: Attributes): Promise<void>
  rename(from: string, to: string): Promise<void>
  removeFile(path: string): Promise<void>
  /** Removes an empty folder. */
  removeFolder(path: string): Promise<void>
  /** Makes renames and removals in the folder durable. */
  syncFolder(path: string): Promise<void>
}

/** Attributes that a replaced file keeps. */
export interface Attributes {
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

export const realDisk: Disk = {
  makeFolder: (path) => mkdir(path),
  createFile: async (path, bytes, as) => {
    const file = await open(path, 'wx', as === undefined ? 0o644 : 0o600)
    try {
      await file.writeFile(bytes)
      if (as !== undefined) {
        const { uid, gid } = await file.stat()
        if (uid !== as.uid || gid !== as.gid) await file.chown(as.uid, as.gid)
        await file.chmod(as.mode)
      }
      await file.sync()
    } finally {
      await file.close()
    }
  },
  rename,
  removeFile: (path) => rm(path),
  removeFolder: rmdir,
  syncFolder: async (path) => {
    const folder = await open(path, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  },
}

/** Returns the status of the path itself, or undefined if nothing is there. */
export const lookAt = async (path: string) => {
  try {
    return await lstat(path)
  } catch (error) {
    if (/^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
