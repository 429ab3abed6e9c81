/** Folders into which a test receives files. */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns a function that makes a fresh empty folder below the folder of the test. */
export function boxesIn(folder: () => string): () => Promise<string> {
  let count = 0
  return async () => {
    count += 1
    const path = join(folder(), `box-${count}`)
    await mkdir(path)
    return path
  }
}

/** The names in a folder that do not start with a dot, as a person would see them. */
export const visible = async (path: string): Promise<string[]> =>
  (await readdir(path)).filter((name) => !name.startsWith('.'))
