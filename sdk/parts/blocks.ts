/**
 * Bytes of a file, read in large blocks into two reused buffers: the next block is read while the last one is used.
 *
 * So memory does not grow with the file, and a reader waits for the disk once. The buffers go from one file to the next: a
 * fresh one costs its page faults, and the collector a look at everything.
 */
import type { FileHandle } from 'node:fs/promises'
import { PartError } from './part-error.ts'

/** Twice as much is no quicker, and sixteen readers at once hold sixteen times two of them. */
export const blockBytes = 512 * 1024

export interface Range {
  readonly offset: number
  readonly size: number
}

/**
 * Calls `use` with every block of the range in order. A block is good until `use` has resolved.
 *
 * @throws PartError `file_changed` when the file ends inside the range.
 */
export async function eachBlock(
  file: FileHandle,
  { offset, size }: Range,
  use: (block: Buffer, isLast: boolean) => void | Promise<void>,
): Promise<void> {
  let [spare, ahead] = [take(Math.min(blockBytes, size)), take(Math.min(blockBytes, size - blockBytes))]
  let done = 0
  let pending = readBlock(file, spare, offset, size)
  while (done < size) {
    const block = await pending
    done += block.length
    ;[spare, ahead] = [ahead, spare]
    if (done < size) pending = readBlock(file, spare, offset + done, size - done)
    try {
      await use(block, done === size)
    } catch (error) {
      // The read ahead must be over before the caller closes the file.
      await pending.catch(() => {})
      throw error
    }
  }
  // After a failure somebody may still read from them: those are not used again.
  giveBack(spare, ahead)
}

const kept: Buffer[] = []
const mostKept = 16

const take = (size: number): Buffer =>
  (size < blockBytes ? undefined : kept.pop()) ?? Buffer.allocUnsafeSlow(Math.max(0, size))

/** What is not kept is freed at once: the collector sees small objects only, and would let many of them pile up. */
function giveBack(...buffers: readonly Buffer[]): void {
  for (const buffer of buffers) {
    if (buffer.length === blockBytes && kept.length < mostKept) kept.push(buffer)
    else if (buffer.buffer instanceof ArrayBuffer) buffer.buffer.transfer(0)
  }
}

/** Fills the buffer as far as the range goes. */
async function readBlock(file: FileHandle, buffer: Buffer, position: number, left: number): Promise<Buffer> {
  const wanted = Math.min(buffer.length, left)
  let filled = 0
  while (filled < wanted) {
    const { bytesRead } = await file.read(buffer, filled, wanted - filled, position + filled)
    if (bytesRead === 0) throw new PartError('file_changed')
    filled += bytesRead
  }
  return buffer.subarray(0, wanted)
}
