/**
 * Helper of `transfer send --direct`: a separate process that serves one file, and the tunnel through which
 * the recipient reaches it.
 *
 * - This process creates the token. The helper gets it in its environment, the recipient gets it through the
 *   node, and it is never printed.
 * - Helper and tunnel end with this process, even if SIGKILL ends it. Each watches a pipe that only this
 *   process holds.
 *
 * Spec §4.5; contract §9 "Direct mode".
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Manifest, ServingHelper } from '../../sdk/program.ts'
import type { CliContext } from '../context.ts'
import { CommandError, type ExitName } from '../exit-codes.ts'
import { type Probe, requireWayHere } from './direct-probe.ts'
import { startTunnel, type Tunnel } from './direct-tunnel.ts'

/** How the recipient reaches the helper. */
export interface WayOptions {
  /** `ORIGIN=PORT`. */
  readonly tunnel?: string
  readonly tunnelCommand?: string
  readonly allowPlain?: true
  /** False: do not check from this machine that the address leads to the helper. */
  readonly probe?: boolean
}

/** Returns whether bytes and token travel unencrypted. */
export const isPlain = ({ tunnel, tunnelCommand }: WayOptions): boolean =>
  tunnel?.startsWith('http://') ?? tunnelCommand === undefined

/** @throws CommandError unless exactly one way is given, and it is allowed */
export async function requireWay(way: WayOptions): Promise<void> {
  const { tunnel, tunnelCommand, allowPlain, probe } = way
  if (probe === false && tunnel === undefined && tunnelCommand === undefined)
    throw new CommandError('usage', '--no-probe needs --tunnel or --tunnel-command')
  if (tunnel !== undefined && tunnelCommand !== undefined)
    throw new CommandError('usage', 'either --tunnel or --tunnel-command, not both')
  if (tunnel !== undefined) {
    const { endpointFault } = await import('../../sdk/program.ts')
    const problem = endpointFault(partsOf(tunnel).endpoint)
    if (problem !== undefined) throw new CommandError('usage', `the address of --tunnel ${problem}`)
  }
  if (!isPlain(way) || allowPlain === true) return
  throw new CommandError('usage', 'a direct transfer needs an https address that leads to this machine', {
    hint: '--tunnel URL or --tunnel-command CMD; --allow-plain if you trust the network in between',
  })
}

/**
 * Refuses a file that is too large, before it is offered. A later step reports an unreadable file. @throws
 * CommandError
 */
export async function requireServable(file: string): Promise<void> {
  const { transferLimits } = await import('../../sdk/program.ts')
  const { max } = transferLimits.fileBytes
  const size = (await stat(file).catch(() => undefined))?.size ?? 0
  if (size > max)
    throw new CommandError('usage', `the file has ${size} bytes; a direct transfer may have at most ${max}`)
}

/** Splits `ORIGIN=PORT`: the address of an existing tunnel, and the local port to which it leads. */
function partsOf(tunnel: string): { endpoint: string; port: string } {
  const [, endpoint = '', port = ''] = /^(.*)=(\d+)$/.exec(tunnel) ?? []
  return { endpoint, port }
}

interface Served {
  readonly file: Manifest
  /** Path of the manifest file. */
  readonly manifest: string
  readonly root: string
}

/**
 * Starts helper and tunnel. @throws CommandError if either does not start, or if the tunnel leads elsewhere
 */
export async function startServing(
  context: CliContext,
  served: Served,
  { tunnel, tunnelCommand, probe }: WayOptions,
  probing: Probe = {},
): Promise<ServingHelper> {
  const known = tunnel === undefined ? undefined : partsOf(tunnel)
  const token = context.random(32).toString('base64url')
  const { helper, ready } = await startReady(context, served, { token, port: known?.port ?? '0' })
  const { port, expires_at: expiresAt } = ready
  let started: Tunnel | undefined
  try {
    if (tunnelCommand !== undefined) started = await startTunnel(context, tunnelCommand, port)
    const endpoint = started?.endpoint ?? known?.endpoint
    const ended = Promise.race([whenEnded(helper), ...(started ? [started.ended] : [])])
    if (endpoint !== undefined && probe !== false)
      await requireWayHere(context, { endpoint, token, ended }, served.file, probing)
    return {
      endpoint: endpoint ?? `http://127.0.0.1:${port}`,
      token,
      expiresAt,
      ended,
      stop: () => Promise.all([end(helper), started?.stop()]),
    }
  } catch (error) {
    await Promise.all([end(helper), started?.stop()])
    throw error
  }
}

const portTries = { ms: 200, most: 15 }

/**
 * Starts the helper. If its port is in use, tries again for 3 s, because the helper of a command that was
 * just killed may still hold it.
 *
 * @throws CommandError
 */
async function startReady(
  context: CliContext,
  served: Served,
  way: { readonly token: string; readonly port: string },
): Promise<{ helper: HelperProcess; ready: Ready }> {
  for (let attempt = 1; ; attempt += 1) {
    const helper = startHelper(context, served, way)
    try {
      return { helper, ready: await readiness(context, helper) }
    } catch (error) {
      await end(helper)
      if (!(error instanceof HelperStartError)) throw error
      if (error.code !== 'port_in_use' || attempt >= portTries.most) throw notStarted(error.code)
      await pause(portTries.ms, undefined, { signal: context.signal })
    }
  }
}

class HelperStartError extends Error {
  readonly code: string | undefined

  constructor(code: string | undefined) {
    super('the helper did not start')
    this.code = code
  }
}

type HelperProcess = ChildProcessByStdio<Writable, Readable, Readable>

function startHelper(
  { environment }: CliContext,
  { file: { size }, manifest, root }: Served,
  { token, port }: { readonly token: string; readonly port: string },
): HelperProcess {
  const [, program = ''] = process.argv
  const options = { manifest, root, port, 'max-bytes': String(size) }
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const helper = spawn(process.execPath, [program, 'helper', ...words, '--end-with-input'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: environment.PATH, SERVICE_TRANSFER_TOKEN: token },
  })
  helper.stdin.on('error', () => {})
  return helper
}

interface Ready {
  readonly port: number
  readonly expires_at: string
}

/** Waits for the helper's readiness line. The helper hashes the whole file first. */
function readiness({ io, signal }: CliContext, helper: HelperProcess): Promise<Ready> {
  return new Promise((resolve, reject) => {
    let refusal: string | undefined
    createInterface(helper.stderr).on('line', (line) => {
      const code = /^\{"error":"([a-z_]+)"\}$/.exec(line)?.[1]
      if (code === undefined) io.err(`${line}\n`)
      else refusal = code
    })
    createInterface(helper.stdout).once('line', (line) => resolve(JSON.parse(line) as Ready))
    helper
      .once('error', () => reject(new HelperStartError(undefined)))
      .once('close', () => reject(new HelperStartError(refusal)))
    const giveUp = () => reject(new CommandError('interrupted', 'interrupted'))
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
  })
}

/** Exit code and message for each error code of a failed start. */
const meanings: Readonly<Record<string, readonly [ExitName, string]>> = {
  file_mismatch: ['integrity', 'the file changed after it was offered; none of it was served'],
  port_in_use: ['conflict', 'another program listens on the local port of the tunnel'],
  port_refused: ['usage', 'this user may not listen on the local port of the tunnel'],
}

function notStarted(code: string | undefined): CommandError {
  const [exit, words] = meanings[code ?? ''] ?? [
    'unexpected',
    `the helper did not start (${code ?? 'no reason'})`,
  ]
  return new CommandError(exit, words)
}

const hasEnded = ({ exitCode, signalCode }: HelperProcess): boolean =>
  exitCode !== null || signalCode !== null

const whenEnded = (helper: HelperProcess): Promise<unknown> =>
  hasEnded(helper) ? Promise.resolve() : once(helper, 'exit')

async function end(helper: HelperProcess): Promise<void> {
  if (helper.pid === undefined || hasEnded(helper)) return
  const ended = once(helper, 'exit')
  helper.kill('SIGTERM')
  await ended
}
