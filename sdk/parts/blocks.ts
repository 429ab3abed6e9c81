/**
 * Reading a file in large blocks with two buffers: the next block is read while the current one is used.
 *
 * Memory does not grow with the file, and disk reads overlap with the work on a block. The buffers are pooled
 * and reused for the next file: a new buffer costs page faults and a garbage collection.
 */
import type { FileHandle } from 'node:fs/promises'
import { PartError } from './part-error.ts'

/** Measured: 1 MiB is no faster. 16 concurrent readers hold 32 buffers. */
export const blockBytes = 512 * 1024

export interface Range {
  readonly offset: number
  readonly size: number
}

/**
 * Calls `use` with every block of the range in order. A block is valid until `use` has resolved.
 *
 * @throws PartError `file_changed` if the file ends inside the range.
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
    if (done < size) {
      pending = readBlock(file, spare, offset + done, size - done)
      // It may fail while the block is used, and is awaited only afterwards. Until then it needs a handler.
      pending.catch(() => {})
    }
    try {
      await use(block, done === size)
    } catch (error) {
      // The pending read must end before the caller closes the file.
      await pending.catch(() => {})
      throw error
    }
  }
  // Only after success: after a failure a buffer may still be in use.
  giveBack(spare, ahead)
}

const kept: Buffer[] = []
const mostKept = 16

const take = (size: number): Buffer =>
  (size < blockBytes ? undefined : kept.pop()) ?? Buffer.allocUnsafeSlow(Math.max(0, size))

/**
 * Returns buffers to the pool, and frees the others immediately: the garbage collector would let many of them
 * pile up.
 */
function giveBack(...buffers: readonly Buffer[]): void {
  for (const buffer of buffers) {
    if (buffer.length === blockBytes && kept.length < mostKept) kept.push(buffer)
    else if (buffer.buffer instanceof ArrayBuffer) buffer.buffer.transfer(0)
  }
}

/** Fills the buffer with up to `left` bytes. */
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
