/**
 * One process at a time receives a transfer into a folder: two would write over each other's parts.
 *
 * A name in the kernel is held, and goes with the process however it ends, so nothing stale is left. Linux and Windows
 * have such names; elsewhere nothing is held.
 */
import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { platformCode } from './part-error.ts'

const prefixes: Readonly<Record<string, string>> = {
  linux: '\0bridge-parts-',
  win32: '\\\\.\\pipe\\bridge-parts-',
}

/** Held until the returned function is called; undefined when another process holds it. */
export async function takeProcessLock(
  folderKey: string,
  transferId: string,
): Promise<(() => void) | undefined> {
  const prefix = prefixes[process.platform]
  if (prefix === undefined) return () => {}
  const name = createHash('sha256').update(`${folderKey}\n${transferId}`).digest('hex').slice(0, 40)
  const server = createServer((socket) => socket.destroy())
  const failure = await listening(server, prefix + name)
  if (failure === 'EADDRINUSE') return undefined
  server.unref()
  return () => void server.close()
}

/** The error that listening met; empty when it met none. Where such names are forbidden, nothing is held. */
const listening = (server: Server, path: string): Promise<string> =>
  new Promise((resolve) => {
    server.once('error', (error) => resolve(platformCode(error)))
    server.listen({ path }, () => resolve(''))
  })
