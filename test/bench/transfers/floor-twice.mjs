// Floor of a file that goes through a store: writes, hashes and syncs the same bytes twice, once as the store
// and once as the recipient. Reading, hashing and writing of successive blocks overlap. Imports nothing of
// the product. Usage: node floor-twice.mjs FILE FOLDER
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

const [, , source, folder] = process.argv
const blockBytes = 1024 * 1024

async function copy(from, to) {
  const input = await open(from, 'r')
  const output = await open(to, 'wx')
  const { size } = await input.stat()
  const hash = createHash('sha256')
  let [spare, used] = [Buffer.allocUnsafeSlow(blockBytes), Buffer.allocUnsafeSlow(blockBytes)]
  let reading = input.read(spare, 0, blockBytes, 0)
  for (let at = 0; at < size; ) {
    const { bytesRead } = await reading
    ;[spare, used] = [used, spare]
    if (at + bytesRead < size) reading = input.read(spare, 0, blockBytes, at + bytesRead)
    const writing = output.write(used, 0, bytesRead, at)
    hash.update(used.subarray(0, bytesRead))
    await writing
    at += bytesRead
  }
  await output.sync()
  await input.close()
  await output.close()
  return hash.digest('hex')
}

const stored = join(folder, 'stored')
const first = await copy(source, stored)
const second = await copy(stored, join(folder, 'received'))
if (first !== second) throw new Error('the copies differ')
