/** The proxy of the harness cuts at the COMMIT of a connection that writes, and at no other one. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startLink } from '../lab/cluster/link.ts'

const writing = "SELECT set_config('bridge.lanes', 'p', true)"

/** A server that answers with what it got, and all that it got. */
async function startEcho() {
  const got: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      got.push(bytes.toString())
      socket.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { got, port: (server.address() as AddressInfo).port }
}

test.each(['before', 'answer'] as const)('a link is cut at the COMMIT of a writer, %s', async (when) => {
  const { got, port } = await startEcho()
  const link = await startLink(port)
  onTestFinished(() => link.close())
  const open = () => connect({ port: link.port, host: '127.0.0.1' }).on('error', () => {})
  const [reader, writer] = [open(), open()]
  const echoed = async (socket: Socket, text: string) => {
    socket.write(text)
    const [bytes] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as unknown[]
    return String(bytes)
  }
  expect(await echoed(writer, writing)).toBe(writing)
  // The text of a prepared statement is not sent again.
  expect(await echoed(writer, 'COMMIT')).toBe('COMMIT')
  got.length = 0
  link.cutAtCommit(when)
  expect(await echoed(reader, 'COMMIT')).toBe('COMMIT')
  expect(await echoed(writer, 'INSERT')).toBe('INSERT')
  expect(link.cuts).toBe(0)
  writer.write('COMMIT')
  await once(writer, 'close')
  expect(link.cuts).toBe(1)
  expect(got).toEqual(['COMMIT', 'INSERT', ...(when === 'answer' ? ['COMMIT'] : [])])
  expect(await echoed(reader, 'COMMIT')).toBe('COMMIT')
})
