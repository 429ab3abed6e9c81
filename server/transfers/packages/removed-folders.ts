/**
 * Folders of packages on their way out: a rename takes one out of reach at once, and its blocks are freed afterwards.
 *
 * - Large files take the disk tens of milliseconds each, so one is freed at a time.
 * - {@link RemovedFolders.sweep} frees folders that a crash or a failure left.
 *
 * Contract §9 "bytes removed".
 */
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Limiter } from '../../../sdk/parts/limiter.ts'
import { platformCode } from '../../../sdk/parts/part-error.ts'

export interface RemovedFolder {
  /** Settled when the disk has its blocks back. */
  readonly gone: Promise<void>
}

export interface RemovedFolders {
  /** Afterwards the folder has another name. A missing one is no error. */
  takeAway(name: string): Promise<RemovedFolder>
  /** Frees folders that were taken away and are still there. */
  sweep(): Promise<void>
  /** Resolves when every folder that was taken away is freed, or freeing it failed. */
  settled(): Promise<void>
}

const ending = '.removed'
const taken: ReadonlySet<string> = new Set(['ENOTEMPTY', 'EEXIST'])
const mostNames = 100

/** Several at once would leave no thread for a commit's sync. */
const turns = new Limiter(1)
const free = (path: string): Promise<void> => turns.take(() => rm(path, { recursive: true, force: true }))

export function createRemovedFolders(root: string): RemovedFolders {
  const under = new Set<Promise<void>>()

  /** The new path, or undefined if there is no such folder. Names that earlier removals left are skipped. */
  async function moved(name: string): Promise<string | undefined> {
    for (let count = 0; ; count += 1) {
      const to = join(root, `${name}.${count}${ending}`)
      try {
        await rename(join(root, name), to)
        return to
      } catch (error) {
        const code = platformCode(error)
        if (code === 'ENOENT') return undefined
        if (!taken.has(code) || count === mostNames) throw error
      }
    }
  }

  return {
    async takeAway(name) {
      const path = await moved(name)
      if (path === undefined) return { gone: Promise.resolve() }
      const gone = free(path)
      const settled = gone.catch(() => {}).then(() => void under.delete(settled))
      under.add(settled)
      return { gone }
    },
    async sweep() {
      const names = (await readdir(root).catch(() => [])).filter((name) => name.endsWith(ending))
      for (const name of names) await free(join(root, name))
    },
    async settled() {
      await Promise.all(under)
    },
  }
}
