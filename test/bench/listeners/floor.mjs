// Floor of listeners: bare node:http and ws that hold every event stream, long-poll and socket without
// authentication. Imports nothing of the product. Prints its port.
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

const held = []
const server = createServer((request, response) => {
  held.push(response)
  if (!request.url.startsWith('/api/v1/events')) return
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  response.write('retry: 250\n\n')
})
const sockets = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false })
server.on('upgrade', (request, connection, head) => {
  sockets.handleUpgrade(request, connection, head, (socket) => {
    held.push(socket)
    socket.on('message', () => socket.send('{"type":"ready"}'))
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
