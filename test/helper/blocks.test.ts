/** Reading a file in blocks, the next one while the current one is used. */
import { type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { blockBytes, eachBlock } from '../../sdk/parts/blocks.ts'

test('a read ahead that fails while a block is used fails the call, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bridge-blocks-'))
  const path = join(folder, 'one-block')
  await writeFile(path, Buffer.alloc(blockBytes, 'x'))
  const file = await open(path)
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(async () => {
    process.off('unhandledRejection', note)
    await file.close()
    await rm(folder, { recursive: true })
  })
  const atEnd = Promise.withResolvers<void>()
  const read = async (buffer: Buffer, offset: number, length: number, position: number) => {
    const result = await file.read(buffer, offset, length, position)
    if (result.bytesRead === 0) atEnd.resolve()
    return result
  }
  let used = 0
  const reading = eachBlock({ read } as FileHandle, { offset: 0, size: 2 * blockBytes }, async (block) => {
    used += block.length
    await atEnd.promise
    // A rejection without a handler is raised before the next turn of the event loop.
    for (let turns = 0; turns < 3; turns += 1) await turn()
  })
  await expect(reading).rejects.toMatchObject({ code: 'file_changed' })
  expect([used, unhandled]).toEqual([blockBytes, []])
})
