/**
 * Tunnel of `transfer send --tunnel-command`: a shell command that forwards an https address to a local port.
 *
 * - The address is the first https origin in the output that has no path. A single slash is accepted if the
 *   address is the whole line. Tunnels also print links to pages (terms, dashboards, documentation), and the
 *   token must not go to those hosts.
 * - The command has its own process group, which ends with this process, even if SIGKILL ends it. A second
 *   shell waits for that on a pipe.
 *
 * Contract §9 "Direct mode".
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'

export interface Tunnel {
  /** An https origin. */
  readonly endpoint: string
  readonly ended: Promise<unknown>
  stop(): Promise<void>
}

interface TunnelTimes {
  /** Time to wait for the address. */
  readonly waitMs?: number
  /** Time from SIGTERM to SIGKILL, and from there until its output is given up. */
  readonly endMs?: number
}

/** Long, because a tunnel first requests a name from its service. */
const addressMs = 60_000
const graceMs = 2000

/**
 * Runs the command next to a watcher. The watcher closes its copies of the output, so that their end can be
 * seen.
 */
const watched = '(read -r _; kill -s TERM 0) <&3 3<&- >/dev/null 2>&1 & exec 3<&-; eval "$1"'

/** Starts the tunnel. @throws CommandError when it ends, or prints no address in time */
export async function startTunnel(
  { environment, signal }: Pick<CliContext, 'environment' | 'signal'>,
  command: string,
  port: number,
  { waitMs = addressMs, endMs = graceMs }: TunnelTimes = {},
): Promise<Tunnel> {
  const shell = spawn('/bin/sh', ['-c', watched, 'tunnel', command], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...environment, PORT: String(port) },
    detached: true,
  })
  const held = shell.stdio[3] as Socket
  // Errors of the pipe are ignored; the output streams show the end of the command.
  held.on('error', () => {}).resume()
  // Release the pipe when all output is closed, including that of processes in the background.
  void Promise.all([shell.stdout, shell.stderr].map((output) => once(output as Readable, 'close')))
    .catch(() => {})
    .then(() => held.destroy())
  const settled = new AbortController()
  const closed = once(shell, 'close').catch((cause: unknown) => {
    throw new CommandError('unexpected', 'cannot start a shell for the tunnel', { cause })
  })
  try {
    const endpoint = await Promise.race([
      printedAddress(shell),
      closed.then(() => {
        throw new CommandError('unexpected', 'the tunnel command ended before it printed an https address')
      }),
      tooLate(waitMs, AbortSignal.any([settled.signal, signal])),
    ])
    return { endpoint, ended: closed, stop: () => stop(shell, closed, endMs) }
  } catch (error) {
    await stop(shell, closed, endMs)
    throw error
  } finally {
    settled.abort()
  }
}

/** Waits for the address. Reads all output to its end, because a full pipe would block the command. */
const printedAddress = (shell: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    for (const stream of [shell.stdout, shell.stderr]) {
      let line = ''
      stream?.setEncoding('utf8').on('data', (text: string) => {
        const lines = `${line}${text}`.split(/[\r\n]/)
        line = lines.pop()?.slice(-longestLine) ?? ''
        for (const whole of lines) {
          const found = addressIn(whole)
          if (found !== undefined) resolve(found)
        }
      })
    }
  })

const longestLine = 64 * 1024

const origin = 'https://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?'
const among = new RegExp(`${origin}(?=\\.?(?:[\\s"'\`<>|,;)\\]}]|$))`)
const alone = new RegExp(`^\\s*(${origin})/\\s*$`)

/** Returns the origin that a line of the tunnel's output contains, if any. */
export function addressIn(line: string): string | undefined {
  const text = stripVTControlCharacters(line)
  const found = alone.exec(text)?.[1] ?? among.exec(text)?.[0]
  return found !== undefined && URL.canParse(found) ? new URL(found).origin : undefined
}

async function tooLate(waitMs: number, signal: AbortSignal): Promise<never> {
  await pause(waitMs, undefined, { signal }).catch((cause: unknown) => {
    throw new CommandError('interrupted', 'interrupted', { cause })
  })
  throw new CommandError('unexpected', `the tunnel command printed no https address in ${waitMs / 1000} s`, {
    hint: 'the address must have no path; --tunnel takes an address that you know',
  })
}

/**
 * Ends the command and its process group: SIGTERM, then SIGKILL after the grace period.
 *
 * A process that left the group, or runs as another user, survives both and may hold the output open. After
 * another grace period this process releases the output and does not wait for it.
 */
async function stop(shell: ChildProcess, closed: Promise<unknown>, endMs: number): Promise<void> {
  const waiting = new AbortController()
  const ended = closed.catch(() => {}).then(() => waiting.abort())
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    signalGroup(shell.pid, signal)
    await Promise.race([ended, pause(endMs, undefined, { signal: waiting.signal }).catch(() => {})])
  }
  for (const stream of shell.stdio) stream?.destroy()
  shell.unref()
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, signal)
  } catch (error) {
    // ESRCH: the group has already ended. EPERM: only processes of another user are left in it.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
