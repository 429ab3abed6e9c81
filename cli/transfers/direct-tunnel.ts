/**
 * The tunnel of `transfer send --tunnel-command`: a shell command that leads an https address to a local port.
 *
 * - Its address is the first https origin that it prints with nothing behind it, or a slash where that is the whole line:
 *   what tunnels print beside it (terms, dashboards, documentation) are pages, and a token must not go to their hosts.
 * - It has a process group of its own, which ends with us however we end: a second shell waits for that on a pipe.
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
  /** For its address. */
  readonly waitMs?: number
  /** For its end, when it is asked to. */
  readonly endMs?: number
}

/** Tunnels ask their service for a name first. */
const addressMs = 60_000
const graceMs = 2000

/** The watcher lets go of what the command prints to, so that the end of the command is seen. */
const watched = '(read -r _; kill -s TERM 0) <&3 3<&- >/dev/null 2>&1 & exec 3<&-; eval "$1"'

/** @throws CommandError when it ends, or prints no address in time */
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
  // Its end is seen by who reads.
  held.on('error', () => {}).resume()
  // As long as anything prints, what was started in the background included.
  void Promise.all([shell.stdout, shell.stderr].map((output) => once(output as Readable, 'close')))
    .catch(() => {})
    .then(() => held.destroy())
  const over = new AbortController()
  const closed = once(shell, 'close').catch((cause: unknown) => {
    throw new CommandError('unexpected', 'there is no shell to start the tunnel with', { cause })
  })
  try {
    const endpoint = await Promise.race([
      printedAddress(shell),
      closed.then(() => {
        throw new CommandError('unexpected', 'the tunnel command ended before it printed an https address')
      }),
      tooLate(waitMs, AbortSignal.any([over.signal, signal])),
    ])
    return { endpoint, ended: closed, stop: () => stop(shell, closed, endMs) }
  } catch (error) {
    await stop(shell, closed, endMs)
    throw error
  } finally {
    over.abort()
  }
}

/** Its output is read to the end: a full pipe would stop it. */
const printedAddress = (shell: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    for (const stream of [shell.stdout, shell.stderr]) {
      let line = ''
      stream?.setEncoding('utf8').on('data', (text: string) => {
        const lines = `${line}${text}`.split(/[\r\n]/)
        line = lines.pop()?.slice(-longestLine) ?? ''
        for (const each of lines) {
          const found = addressIn(each)
          if (found !== undefined) resolve(found)
        }
      })
    }
  })

const longestLine = 64 * 1024

const origin = 'https://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?'
const among = new RegExp(`${origin}(?=\\.?(?:[\\s"'\`<>|,;)\\]}]|$))`)
const alone = new RegExp(`^\\s*(${origin})/\\s*$`)

/** The address that a line of a tunnel tells, as an origin. */
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
    hint: 'it must print one with nothing behind it; --tunnel takes an address that you know',
  })
}

/** All that it started goes too; what does not go when asked is ended. */
async function stop(shell: ChildProcess, closed: Promise<unknown>, endMs: number): Promise<void> {
  const over = new AbortController()
  const ended = closed.catch(() => {}).then(() => over.abort())
  signalGroup(shell.pid, 'SIGTERM')
  await Promise.race([ended, pause(endMs, undefined, { signal: over.signal }).catch(() => {})])
  signalGroup(shell.pid, 'SIGKILL')
  await ended
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, signal)
  } catch (error) {
    // It has ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
