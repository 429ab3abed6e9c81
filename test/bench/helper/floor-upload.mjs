// Floor of an upload: a bare server that writes parts at their offset into one staged file, with hash and
// sync per part. At the end it hashes the whole file, syncs and links it. Imports nothing of the product.
// node floor-upload.mjs FOLDER SIZE PART_SIZE prints its port.
import { createHash } from 'node:crypto'
import { link, open } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'

const [, , folder, size, partSize] = process.argv
const staged = join(folder, 'staged')
const file = await open(staged, 'wx+')
await file.truncate(Number(size))

async function receive(request, offset) {
  const hash = createHash('sha256')
  let at = offset
  let gathered = []
  let bytes = 0
  let writing = Promise.resolve()
  const write = () => {
    const chunks = gathered
    const position = at
    at += bytes
    gathered = []
    bytes = 0
    return file.writev(chunks, position)
  }
  for await (const chunk of request) {
    hash.update(chunk)
    gathered.push(chunk)
    bytes += chunk.length
    if (bytes >= 1024 * 1024) {
      await writing
      writing = write()
    }
  }
  await writing
  if (bytes > 0) await write()
  await file.datasync()
  return hash.digest('hex')
}

async function finalize() {
  const buffer = Buffer.allocUnsafeSlow(1024 * 1024)
  const hash = createHash('sha256')
  for (let at = 0; at < Number(size); ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
  await file.sync()
  await link(staged, join(folder, 'published'))
  const opened = await open(folder)
  await opened.sync()
  await opened.close()
  return hash.digest('hex')
}

const server = createServer(async (request, response) => {
  const index = /(\d+)$/.exec(request.url)?.[1]
  const sha256 =
    index === undefined ? await finalize() : await receive(request, Number(index) * Number(partSize))
  response.end(sha256)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
