/** Sizes of the stored data and free space of the disk. */
import { stat, statfs } from 'node:fs/promises'
import { databasePath } from './data-folder.ts'

export interface Room {
  /** Free for this process. Space reserved for root is not counted. */
  readonly freeBytes: number
  readonly totalBytes: number
}

export async function roomOf(folder: string): Promise<Room> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** Size of a file, or 0 if it does not exist. */
export const bytesOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )

export async function databaseBytes(data: string): Promise<{ database: number; wal: number }> {
  const path = databasePath(data)
  return { database: await bytesOf(path), wal: await bytesOf(`${path}-wal`) }
}
