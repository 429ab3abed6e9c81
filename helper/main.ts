/**
 * `bridge helper`: starts, prints one readiness line, and stops at the deadline.
 *
 * Standard output gets only the one JSON line. If the start fails, standard error gets only a fixed code. The
 * output never has the token, a body or a file name.
 *
 * Spec §2 (Helper readiness line), §4.5, §7.
 */
import { writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { uptime } from 'node:os'
import type { ReadinessLine } from '../sdk/contract/helper/endpoints.ts'
import type { StartErrorCode } from '../sdk/contract/helper/errors.ts'
import { createElapsed } from '../sdk/parts/elapsed.ts'
import { Folder } from '../sdk/parts/folder.ts'
import { PartError } from '../sdk/parts/part-error.ts'
import { takeProcessLock } from '../sdk/parts/process-lock.ts'
import type { Pace } from '../sdk/parts/receive.ts'
import { type Clock, Lifetime } from './lifetime.ts'
import { host, Listener } from './listener.ts'
import { readManifest } from './manifest-file.ts'
import { type HelperOptions, readOptions } from './options.ts'
import { StartError } from './start-failure.ts'
import { TokenCheck } from './token.ts'
import { Transfer } from './transfer.ts'

export { readOptions } from './options.ts'

export interface RunningHelper {
  readonly readiness: ReadinessLine
  /** Stops the helper before its deadline. */
  stop(): Promise<void>
  /** Resolves when everything is closed. */
  readonly ended: Promise<void>
}

/** Values that a test changes. */
export interface HelperTuning {
  readonly clock?: Clock
  readonly pace?: Pace
  readonly badTokenMs?: number
  /** Milliseconds between two looks at the lifetime. */
  readonly lookMs?: number
}

function systemClock(): Clock {
  const now = () => new Date()
  const monotonicMs = () => performance.now()
  return { now, elapsed: createElapsed({ clock: now, monotonicMs, uptimeMs: () => uptime() * 1000 }) }
}

/** @throws StartError */
export async function startHelper(options: HelperOptions, tuning: HelperTuning = {}): Promise<RunningHelper> {
  const file = readManifest(options.manifest)
  const { manifest } = file
  if (manifest.size > options.maxBytes) throw new StartError('file_too_large')
  const closing: (() => unknown)[] = []
  try {
    const folder = await openRoot(options.root)
    closing.push(() => folder.close())
    if (manifest.mode === 'upload') closing.push(await hold(folder, manifest.transfer_id))
    const lifetime = new Lifetime(tuning.clock ?? systemClock(), options.ttlSeconds, tuning.lookMs)
    const transfer = await Transfer.open(file, folder, { lifetime, pace: tuning.pace })
    closing.push(() => transfer.close())
    const listener = new Listener(transfer, new TokenCheck(options.token, tuning.badTokenMs))
    const port = await listener.listen(options.port)
    return running(listener, lifetime, { port, transfer, closing })
  } catch (error) {
    await closeAll(closing)
    throw error
  }
}

interface Opened {
  readonly port: number
  readonly transfer: Transfer
  readonly closing: (() => unknown)[]
}

function running(listener: Listener, lifetime: Lifetime, { port, transfer, closing }: Opened): RunningHelper {
  let ending: Promise<void> | undefined
  const ended = Promise.withResolvers<void>()
  const end = (): Promise<void> => {
    giveUp()
    ending ??= listener
      .stop(new PartError('expired'))
      .then(() => closeAll(closing))
      .finally(ended.resolve)
    return ending
  }
  const giveUp = lifetime.begin(() => void end())
  const { transfer_id, mode } = transfer.manifest
  const readiness = { host, port, transfer_id, mode, expires_at: lifetime.expiresAt }
  return { readiness, stop: end, ended: ended.promise }
}

async function openRoot(path: string): Promise<Folder> {
  try {
    return await Folder.open(path)
  } catch (cause) {
    throw new StartError('root_unusable', { cause })
  }
}

async function hold(folder: Folder, transferId: string): Promise<() => void> {
  const release = await takeProcessLock(folder.key, transferId)
  if (release === undefined) throw new StartError('transfer_in_use')
  return release
}

/** Closes in reverse order of opening. */
async function closeAll(closing: (() => unknown)[]): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close()
}

/** Runs the program and sets the exit code. The process ends when everything is closed. */
export async function runHelper(args: readonly string[]): Promise<void> {
  process.once('uncaughtException', (error) => fail(error))
  try {
    const options = readOptions(args)
    const helper = await startHelper(options)
    stopOnRequest(helper, options)
    if (!isPrinted(`${JSON.stringify(helper.readiness)}\n`)) await helper.stop()
    await helper.ended
  } catch (error) {
    fail(error)
  }
}

/** Stops the helper on a signal and, if asked for, when standard input ends. */
export function stopOnRequest(helper: RunningHelper, { endsWithInput }: HelperOptions): void {
  const end = () => void helper.stop()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, end)
  if (endsWithInput === true) whenInputEnds(end)
}

/** Calls `end` when standard input ends. Standard input does not keep the process alive. */
function whenInputEnds(end: () => void): void {
  process.stdin.once('end', end).once('error', end).resume()
  if ('unref' in process.stdin) (process.stdin as Socket).unref()
}

/**
 * Writes the line synchronously to the descriptor, because opening a stream is the slowest step of the start.
 */
function isPrinted(line: string): boolean {
  try {
    writeSync(1, line)
    return true
  } catch {
    // Without the line no client can know the port, so the helper ends.
    return false
  }
}

export const startErrorOf = (error: unknown): StartErrorCode =>
  error instanceof StartError ? error.code : 'internal'

/** "Helper startup failures print only fixed error codes." */
function fail(error: unknown): never {
  const code = startErrorOf(error)
  writeSync(2, `${JSON.stringify({ error: code })}\n`)
  process.exit(code === 'invalid_options' ? 2 : 1)
}
