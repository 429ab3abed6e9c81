// Floor of a download: a bare server that reads a file into one reused buffer of 1 MiB and sends it. Imports
// nothing of the product. node floor-download.mjs FILE prints its port.
import { open } from 'node:fs/promises'
import { createServer } from 'node:http'

const file = await open(process.argv[2], 'r')
const { size } = await file.stat()
const buffer = Buffer.allocUnsafeSlow(1024 * 1024)

const server = createServer(async (_request, response) => {
  response.writeHead(200, { 'Content-Length': size })
  for (let at = 0; at < size; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
    at += bytesRead
    await new Promise((resolve) => response.write(buffer.subarray(0, bytesRead), resolve))
  }
  response.end()
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
