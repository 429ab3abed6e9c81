/** How large what the node stores is, and how much room its disk has left. */
import { stat, statfs } from 'node:fs/promises'
import { databasePath } from '../data-folder.ts'

export interface Room {
  /** For this process: what is kept for the administrator of the machine is not counted. */
  readonly freeBytes: number
  readonly totalBytes: number
}

export async function roomOf(folder: string): Promise<Room> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** 0 where there is no such file. */
export const bytesOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )

export async function databaseBytes(data: string): Promise<{ database: number; wal: number }> {
  const path = databasePath(data)
  return { database: await bytesOf(path), wal: await bytesOf(`${path}-wal`) }
}
