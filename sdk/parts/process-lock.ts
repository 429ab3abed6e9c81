/**
 * Lock that lets one process at a time receive a transfer into a folder. Two would overwrite each other's
 * parts.
 *
 * The lock is a listening socket with a name in the kernel (an abstract socket or a named pipe). It ends with
 * the process, so it is never stale. Only Linux and Windows have such names; on other systems there is no
 * lock.
 */
import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { platformCode } from './part-error.ts'

const prefixes: Readonly<Record<string, string>> = {
  linux: '\0bridge-parts-',
  win32: '\\\\.\\pipe\\bridge-parts-',
}

/** Takes the lock until the returned function is called. Returns undefined if another process holds it. */
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

/**
 * Returns the error code of listening, or an empty string. If the system forbids such names, there is no
 * lock.
 */
const listening = (server: Server, path: string): Promise<string> =>
  new Promise((resolve) => {
    server.once('error', (error) => resolve(platformCode(error)))
    server.listen({ path }, () => resolve(''))
  })
