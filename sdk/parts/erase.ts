/** Overwrites bytes of a staged file that belong to no committed part. */
import type { FileHandle } from 'node:fs/promises'
import type { Range } from './blocks.ts'
import { syncLimiter } from './limiter.ts'

/** Bytes per sync: another transfer's sync waits for at most this much. */
const zeros = Buffer.alloc(1024 * 1024)

/** Overwrites the range with zeros, durably. Bytes outside the range stay. */
export async function erase(file: FileHandle, { offset, size }: Range): Promise<void> {
  for (let done = 0; done < size; ) {
    const { bytesWritten } = await file.write(zeros, 0, Math.min(zeros.length, size - done), offset + done)
    done += bytesWritten
    await syncLimiter.take(() => file.datasync())
  }
}
