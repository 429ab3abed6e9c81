/** Folders that a test receives files into. */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Each call makes a fresh empty folder below the one of the test. */
export function boxesIn(folder: () => string): () => Promise<string> {
  let count = 0
  return async () => {
    count += 1
    const path = join(folder(), `box-${count}`)
    await mkdir(path)
    return path
  }
}

/** Names in a folder that somebody would take for a file. */
export const visible = async (path: string): Promise<string[]> =>
  (await readdir(path)).filter((name) => !name.startsWith('.'))
