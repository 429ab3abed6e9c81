/**
 * The reserve: a file that only occupies disk space and is deleted when the disk is full.
 *
 * Random bytes are written to it, so that the space is really allocated and cannot be compressed away. It
 * gets its name only when it is complete.
 */
import { rmSync, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

export const reservePath = (data: string): string => join(data, 'reserve')

/** Size of the reserve, or 0 if there is none. */
export const reservedBytes = (data: string): number =>
  statSync(reservePath(data), { throwIfNoEntry: false })?.size ?? 0

const chunkBytes = 1024 * 1024

export interface ReserveOptions {
  readonly data: string
  readonly bytes: number
  readonly random: (bytes: number) => Buffer
}

const draftPath = (data: string): string => `${reservePath(data)}.new`

/** Deletes the reserve and the leftover of an interrupted one. Works on a full disk too. */
export function dropReserve(data: string): void {
  rmSync(reservePath(data), { force: true })
  rmSync(draftPath(data), { force: true })
}

/**
 * Makes the reserve. Returns false if stopped before it was complete. If it is stopped or fails, no file
 * remains. @throws the error of the file system, such as ENOSPC
 */
export async function makeReserve(
  { data, bytes, random }: ReserveOptions,
  stopping: AbortSignal,
): Promise<boolean> {
  const path = reservePath(data)
  const draft = draftPath(data)
  const file = await open(draft, 'w', 0o600)
  try {
    const chunk = random(Math.min(chunkBytes, bytes))
    for (let written = 0; written < bytes && !stopping.aborted; )
      written += (await file.write(chunk, 0, Math.min(chunk.length, bytes - written))).bytesWritten
    if (!stopping.aborted) await file.sync()
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  } finally {
    await file.close()
  }
  if (stopping.aborted) await rm(draft, { force: true })
  else await rename(draft, path)
  return !stopping.aborted
}
