/**
 * The reserve: a file that holds room on the disk and nothing else, to be given up when the disk is full.
 *
 * Its bytes are written, so that the room is taken for certain, and cannot be compressed away. It has its name only when
 * it is whole.
 */
import { rmSync, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

export const reservePath = (data: string): string => join(data, 'reserve')

/** 0 where there is none. */
export const reservedBytes = (data: string): number =>
  statSync(reservePath(data), { throwIfNoEntry: false })?.size ?? 0

const chunkBytes = 1024 * 1024

export interface ReserveOptions {
  readonly data: string
  readonly bytes: number
  readonly random: (bytes: number) => Buffer
}

const draftPath = (data: string): string => `${reservePath(data)}.new`

/** At once, also where nothing else can be written; and what an interrupted making left. */
export function dropReserve(data: string): void {
  rmSync(reservePath(data), { force: true })
  rmSync(draftPath(data), { force: true })
}

/** False, and nothing is left of it: stopped. @throws what the disk says, such as ENOSPC; then too */
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
