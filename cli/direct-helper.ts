/**
 * The helper of `transfer send --direct`: a process of its own that serves one file, and the way by which others reach it.
 *
 * - The token is made here, goes to the helper by its environment and to the recipient by the service, and is never printed.
 * - Both end with this process, however it ends: each watches a pipe that only this process holds open.
 *
 * Spec §4.5; contract §9 "Direct mode".
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { ServingHelper } from '../sdk/index.ts'
import type { CliContext } from './context.ts'
import { CommandFailure } from './exit-codes.ts'

/** How the recipient reaches the helper. */
export interface WayOptions {
  readonly tunnel?: string
  readonly tunnelCommand?: string
  readonly allowPlain?: true
}

/** @throws CommandFailure unless there is exactly one way */
export function requireWay({ tunnel, tunnelCommand, allowPlain }: WayOptions): void {
  if (tunnel !== undefined && tunnelCommand !== undefined)
    throw new CommandFailure('usage', 'either --tunnel or --tunnel-command, not both')
  const isPlain = tunnel?.startsWith('http://') ?? tunnelCommand === undefined
  if (!isPlain || allowPlain === true) return
  throw new CommandFailure('usage', 'a direct transfer needs a way by https to this machine', {
    hint: '--tunnel URL or --tunnel-command CMD; --allow-plain where the network between is yours',
  })
}

interface Served {
  readonly manifest: string
  readonly root: string
}

/** @throws CommandFailure when the helper or its tunnel does not start */
export async function startServing(
  context: CliContext,
  { manifest, root }: Served,
  way: WayOptions,
): Promise<ServingHelper> {
  const token = context.random(32).toString('base64url')
  const port = portOf(way.tunnel)
  const [, program = ''] = process.argv
  const words = [
    program,
    'helper',
    '--manifest',
    manifest,
    '--root',
    root,
    '--port',
    port,
    '--end-with-input',
  ]
  const helper = spawn(process.execPath, words, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: context.environment.PATH, SERVICE_TRANSFER_TOKEN: token },
  })
  helper.stdin.on('error', () => {})
  const children: ChildProcess[] = [helper]
  const stop = () => Promise.all(children.map(end))
  try {
    const ready = JSON.parse(await firstLine(helper, /^\{/)) as { port: number; expires_at: string }
    const tunnel =
      way.tunnelCommand === undefined ? undefined : startTunnel(context, way.tunnelCommand, ready.port)
    if (tunnel !== undefined) children.push(tunnel)
    const endpoint =
      tunnel === undefined
        ? (way.tunnel?.replace(/=\d+$/, '') ?? `http://127.0.0.1:${ready.port}`)
        : (/https:\/\/[A-Za-z0-9.-]+(:\d+)?/.exec(await firstLine(tunnel, /https:\/\//))?.[0] ?? '')
    const ended = Promise.race(children.map((child) => whenEnded(child)))
    return { endpoint, token, expiresAt: ready.expires_at, ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A tunnel that is there already ends at a port that it knows: `URL=PORT`, or any free one behind `--allow-plain`. */
const portOf = (tunnel: string | undefined): string => /=(\d+)$/.exec(tunnel ?? '')?.[1] ?? '0'

/** In a process group of its own, which goes when the pipe closes: the line may start more than one program. */
const guarded = '{ read -r _ <&3; kill -TERM 0; } & exec 3<&-; eval "$1"'

function startTunnel({ environment }: CliContext, line: string, port: number): ChildProcess {
  const tunnel = spawn('/bin/sh', ['-c', guarded, 'sh', line], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
    env: { ...environment, PORT: String(port) },
  })
  tunnel.stdio[3]?.on('error', () => {})
  return tunnel
}

async function firstLine(child: ChildProcess, wanted: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null)
        createInterface(stream).on('line', (line) => {
          if (wanted.test(line)) resolve(line)
        })
    }
    const failed = () => reject(new CommandFailure('unexpected', 'the helper or its tunnel did not start'))
    child.once('error', failed).once('close', failed)
  })
}

const whenEnded = (child: ChildProcess): Promise<unknown> =>
  child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, 'close')

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  const [, , , pipe] = child.stdio
  if (pipe == null) child.kill('SIGTERM')
  else pipe.destroy()
  await ended
}
