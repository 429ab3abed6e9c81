/**
 * Detects whether a sandbox blocks the network of this process. A blocked connection fails exactly like one to
 * an unreachable node.
 *
 * - A sandbox may say so in the environment.
 * - A separate network namespace has no device except loopback. A machine that is offline still has its
 *   devices.
 * - A filter on system calls refuses sockets. The lookup of a name does not show that reason, so this code
 *   tries a socket. Connecting a datagram socket sends nothing.
 *
 * Contract §12: exit 13.
 */
import { readFile } from 'node:fs/promises'

export const sandboxHint = 'allow this program to open network connections, then run bridge outbox flush'

export async function networkIsClosed(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  if (environment.CODEX_SANDBOX_NETWORK_DISABLED === '1') return true
  return (await hasNoDevice()) || (await socketsAreRefused())
}

/** Works on Linux. Other systems have no such file, so the result is false. */
async function hasNoDevice(): Promise<boolean> {
  const table = await readFile('/proc/self/net/dev', 'utf8').catch(() => '')
  const names = [...table.matchAll(/^ *([^ :|]+):/gm)].map(([, name]) => name)
  return names.length > 0 && names.every((name) => name === 'lo')
}

/** Connects a datagram socket to port 9 (discard), which sends nothing. */
async function socketsAreRefused(): Promise<boolean> {
  const { createSocket } = await import('node:dgram')
  return new Promise((resolve) => {
    const probe = createSocket('udp4')
    const end = (error?: NodeJS.ErrnoException) => {
      probe.close()
      resolve(error?.code === 'EPERM' || error?.code === 'EACCES')
    }
    probe.once('error', end)
    probe.connect(9, '127.0.0.1', end)
  })
}
