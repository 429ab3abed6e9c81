/** A separate disk that is small enough to be filled: a tmpfs, if this user may mount one. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SmallDisk {
  readonly path: string
  freeBytes(): number
  /** Fills the disk, or all but this many bytes. */
  fill(but?: number): void
  /** Frees the space that {@link fill} used. */
  empty(): void
  /** Returns whether the system did it: it refuses while a file is open for writing. */
  remount(how: 'ro' | 'rw'): boolean
  unmount(): void
}

const mebibyte = 1024 * 1024

/** Mounts the disk at a path that it creates; undefined if this user may not mount. */
export function mountSmallDisk(path: string, mebibytes: number): SmallDisk | undefined {
  mkdirSync(path, { recursive: true })
  const size = `size=${mebibytes}m,mode=0700`
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', path]).status !== 0) return undefined
  const filler = join(path, 'filler')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  }
  return {
    path,
    freeBytes,
    fill(but = 0) {
      const bytes = Math.max(0, freeBytes() - but)
      try {
        for (let left = bytes; left > 0; left -= mebibyte)
          writeFileSync(filler, Buffer.alloc(Math.min(left, mebibyte)), { flag: 'a' })
      } catch (error) {
        // Another process wrote in the meantime, and the disk is full.
        if (but > 0 || (error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    },
    empty: () => rmSync(filler, { force: true }),
    remount: (how) => spawnSync('mount', ['-o', `remount,${how}`, path]).status === 0,
    unmount() {
      spawnSync('umount', ['-l', path])
    },
  }
}
