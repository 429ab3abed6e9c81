/**
 * Whether this process may reach a network at all: what a sandbox closes looks like a node that is away.
 *
 * - A sandbox may say so in the environment.
 * - A network namespace of its own has no device but loopback; a machine that is offline still has its devices.
 * - A filter on system calls refuses sockets: a look-up of names then only says that it failed, so one is tried. A
 *   datagram socket that is connected sends nothing.
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

/** Linux; elsewhere there is no such file. */
async function hasNoDevice(): Promise<boolean> {
  const table = await readFile('/proc/self/net/dev', 'utf8').catch(() => '')
  const names = [...table.matchAll(/^ *([^ :|]+):/gm)].map(([, name]) => name)
  return names.length > 0 && names.every((name) => name === 'lo')
}

/** Port 9 discards; nothing is sent to it. */
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
