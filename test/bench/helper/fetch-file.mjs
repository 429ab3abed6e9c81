// A client that downloads a file and discards it. Imports nothing of the product. node fetch-file.mjs PORT
// TOKEN prints the milliseconds.
import { connect } from 'node:net'

const [, , port, token] = process.argv
const sink = Buffer.allocUnsafeSlow(1024 * 1024)
const began = performance.now()
let received = 0
const socket = connect({
  port: Number(port),
  host: '127.0.0.1',
  onread: {
    buffer: sink,
    callback: (count) => {
      received += count
      return true
    },
  },
})
socket.write(
  `GET /v1/file HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
)
socket.on('close', () =>
  process.stdout.write(`${JSON.stringify({ ms: performance.now() - began, received })}\n`),
)
