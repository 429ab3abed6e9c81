/** Bytes of a staged file that belong to nobody: zeros in their place, on the disk. */
import type { FileHandle } from 'node:fs/promises'
import type { Range } from './blocks.ts'
import { syncLimiter } from './limiter.ts'

/** As much as another's sync has to wait for. */
const zeros = Buffer.alloc(1024 * 1024)

/** The range reads as zeros, also after a crash. Neighbours stay. */
export async function erase(file: FileHandle, { offset, size }: Range): Promise<void> {
  for (let done = 0; done < size; ) {
    const { bytesWritten } = await file.write(zeros, 0, Math.min(zeros.length, size - done), offset + done)
    done += bytesWritten
    await syncLimiter.take(() => file.datasync())
  }
}
