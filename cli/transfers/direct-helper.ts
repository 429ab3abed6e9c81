/**
 * The helper of `transfer send --direct`: a process of its own that serves one file, and the way by which others reach it.
 *
 * - The token is made here, goes to the helper by its environment and to the recipient by the service, and is never printed.
 * - Both end with this process, however it ends: each watches a pipe that only this process holds open.
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
  /** False: what does not lead here from here is taken at the user's word. */
  readonly probe?: boolean
}

/** Bytes and token travel in the clear. */
export const isPlain = ({ tunnel, tunnelCommand }: WayOptions): boolean =>
  tunnel?.startsWith('http://') ?? tunnelCommand === undefined

/** @throws CommandError unless there is exactly one way, and it may be taken */
export async function requireWay(way: WayOptions): Promise<void> {
  const { tunnel, tunnelCommand, allowPlain, probe } = way
  if (probe === false && tunnel === undefined && tunnelCommand === undefined)
    throw new CommandError('usage', '--no-probe belongs to --tunnel or --tunnel-command')
  if (tunnel !== undefined && tunnelCommand !== undefined)
    throw new CommandError('usage', 'either --tunnel or --tunnel-command, not both')
  if (tunnel !== undefined) {
    const { endpointFault } = await import('../../sdk/program.ts')
    const problem = endpointFault(partsOf(tunnel).endpoint)
    if (problem !== undefined) throw new CommandError('usage', `the address of --tunnel ${problem}`)
  }
  if (!isPlain(way) || allowPlain === true) return
  throw new CommandError('usage', 'a direct transfer needs a way by https to this machine', {
    hint: '--tunnel URL or --tunnel-command CMD; --allow-plain where the network between is yours',
  })
}

/** Refused before it is offered. What cannot be read is told by who reads it. @throws CommandError */
export async function requireServable(file: string): Promise<void> {
  const { transferLimits } = await import('../../sdk/program.ts')
  const { max } = transferLimits.fileBytes
  const size = (await stat(file).catch(() => undefined))?.size ?? 0
  if (size > max)
    throw new CommandError('usage', `${size} bytes are more than the ${max} that a direct transfer may have`)
}

/** A tunnel that is there already, and the port at which it ends here. */
function partsOf(tunnel: string): { endpoint: string; port: string } {
  const [, endpoint = '', port = ''] = /^(.*)=(\d+)$/.exec(tunnel) ?? []
  return { endpoint, port }
}

interface Served {
  readonly file: Manifest
  /** Where it is written down for the helper. */
  readonly manifest: string
  readonly root: string
}

/** @throws CommandError when the helper or its tunnel does not start, or the tunnel leads elsewhere */
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

const portLooks = { ms: 200, most: 15 }

/** The port of a tunnel may still be held by the helper of a command that was killed just now. @throws CommandError */
async function startReady(
  context: CliContext,
  served: Served,
  way: { readonly token: string; readonly port: string },
): Promise<{ helper: HelperProcess; ready: Ready }> {
  for (let look = 1; ; look += 1) {
    const helper = startHelper(context, served, way)
    try {
      return { helper, ready: await readiness(context, helper) }
    } catch (error) {
      await end(helper)
      if (!(error instanceof HelperStartError)) throw error
      if (error.code !== 'port_in_use' || look >= portLooks.most) throw notStarted(error.code)
      await pause(portLooks.ms, undefined, { signal: context.signal })
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

/** The helper's one line. It hashes the file first, which takes its time. */
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

/** What a start that failed means to who sends a file. */
const meanings: Readonly<Record<string, readonly [ExitName, string]>> = {
  file_mismatch: ['integrity', 'the file changed after it was offered; nothing of it was served'],
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
