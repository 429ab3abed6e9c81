// A client that sends the parts of a file and then finalizes, as fast as possible and without hashing.
// Imports nothing of the product. node send-parts.mjs PORT FILE PART_SIZE TOKEN prints the milliseconds of
// the parts and of the finalize.
import { open } from 'node:fs/promises'
import { Agent, request as ask } from 'node:http'

const [, , port, path, partSize, token] = process.argv
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const file = await open(path, 'r')
const { size } = await file.stat()
const buffer = Buffer.allocUnsafeSlow(1024 * 1024)

const call = (method, target, length, write) =>
  new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Length': length }
    const request = ask({ host: '127.0.0.1', port, method, path: target, headers, agent }, (response) => {
      response
        .resume()
        .on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`)),
        )
    })
    request.on('error', reject)
    void write(request).then(() => request.end())
  })

const began = performance.now()
for (let offset = 0, index = 0; offset < size; offset += Number(partSize), index += 1) {
  const length = Math.min(Number(partSize), size - offset)
  await call('PUT', `/v1/parts/${index}`, length, async (request) => {
    for (let at = 0; at < length; ) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, length - at), offset + at)
      await new Promise((resolve) => request.write(buffer.subarray(0, bytesRead), resolve))
      at += bytesRead
    }
  })
}
const sent = performance.now()
await call('POST', '/v1/finalize', 0, async () => {})
process.stdout.write(`${JSON.stringify({ parts: sent - began, finalize: performance.now() - sent })}\n`)
agent.destroy()
await file.close()
