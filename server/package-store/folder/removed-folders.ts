/**
 * Folders of removed packages. A rename makes a folder inaccessible immediately; its blocks are freed
 * afterwards.
 *
 * - Large files take the disk tens of milliseconds each, so one folder is freed at a time.
 * - {@link RemovedFolders.sweep} frees folders that a crash or a failure left behind.
 *
 * Contract §9 "bytes removed".
 */
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Limiter } from '../../../sdk/parts/limiter.ts'
import { platformCode } from '../../../sdk/parts/part-error.ts'
import type { RemovedPackage } from '../packages.ts'

export interface RemovedFolders {
  /**
   * Renames the folder of a package. A missing folder is no error. If another caller has renamed it and it is being
   * freed, `gone` waits for that.
   */
  detach(name: string): Promise<RemovedPackage>
  /** Frees renamed folders that still exist. */
  sweep(): Promise<void>
  /** Resolves when every renamed folder has been freed or freeing it has failed. */
  settled(): Promise<void>
}

const suffix = '.removed'
const nameTaken: ReadonlySet<string> = new Set(['ENOTEMPTY', 'EEXIST'])
const maxNames = 100

/** Freeing several at a time could occupy all threads of the pool, and the sync of a commit needs one. */
const limiter = new Limiter(1)
const free = (path: string): Promise<void> => limiter.take(() => rm(path, { recursive: true, force: true }))

export function createRemovedFolders(root: string): RemovedFolders {
  const running = new Map<string, Promise<void>>()

  /**
   * Renames the folder and returns the new path, or undefined if it does not exist. Skips names that earlier
   * removals left.
   */
  async function renameFolder(name: string): Promise<string | undefined> {
    for (let count = 0; ; count += 1) {
      const to = join(root, `${name}.${count}${suffix}`)
      try {
        await rename(join(root, name), to)
        return to
      } catch (error) {
        const code = platformCode(error)
        if (code === 'ENOENT') return undefined
        if (!nameTaken.has(code) || count === maxNames) throw error
      }
    }
  }

  return {
    async detach(name) {
      const path = await renameFolder(name)
      if (path === undefined) return { gone: running.get(name) ?? Promise.resolve() }
      const gone = free(path)
      running.set(name, gone)
      const forget = () => {
        if (running.get(name) === gone) running.delete(name)
      }
      gone.then(forget, forget)
      return { gone }
    },
    async sweep() {
      const names = (await readdir(root).catch(() => [])).filter((name) => name.endsWith(suffix))
      for (const name of names) await free(join(root, name))
    },
    async settled() {
      await Promise.allSettled(running.values())
    },
  }
}
