/**
 * Renews a claim while another process lives, in this process or in one that it starts in the background.
 *
 * - One process renews a claim: it holds a lock beside the file of the claim, and removes both its files at its end.
 *   The lock belongs to the task. A process that finds it with an earlier claim of the task waits for its end.
 * - It ends when that process is gone, when a command of this profile ended the task, and when the claim was lost.
 * - `bridge.tasks.keep` reads the task every 15 seconds, and so notices a lost claim or a revoked credential.
 *
 * Contract §8, §12.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { HeldTask, Task } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import { callerOf, isAlive, processOf } from '../hooks/harness-process.ts'
import { readJson, writeJson } from '../profile/json-file.ts'
import { type Lock, takeLock } from '../profile/lock.ts'
import { findClaim } from './claims.ts'

const checkMs = 1000
/** The process of an earlier claim ends at its next check. */
const lockPace = { everyMs: 100, tries: 40 } as const

/** Process that renews a claim, and the process that it watches. */
interface Renewing {
  readonly pid: number
  readonly while_pid: number
  /** Generation of the claim. */
  readonly generation: number
}

/** Returns the process to watch: the given one, else the caller of this one. @throws CommandError if it is gone. */
export function watchedPid(given: number | undefined): number {
  const pid = given ?? callerOf(process.ppid)
  if (pid > 1 && isAlive(processOf(pid))) return pid
  const which = given === undefined ? 'the process that started this command' : `process ${pid}`
  throw new CommandError('usage', `${which} has ended, so the claim would not be renewed`, {
    hint: '--while-pid names a process that lives as long as the work',
  })
}

/** Renews until the end. @throws CommandError `claim_lost` if neither the process nor the task ended it. */
export async function renewWhile(
  context: CliContext,
  held: HeldTask,
  whilePid: number,
  onHeld: (task: Task) => void,
): Promise<void> {
  const { bridge, paths } = await context.agent()
  const files = filesOf(paths.claims, held.id)
  const generation = held.claim?.generation ?? 0
  const { lock, other } = await lockOrOther(context, files, generation)
  if (other !== undefined) return report(context, { type: 'taken', ...other })
  const watched = processOf(whilePid)
  const over = new AbortController()
  const check = async () => {
    if (!isAlive(watched) || !(await isCurrent(paths.claims, held))) over.abort()
  }
  const timer = setInterval(() => void check(), checkMs)
  try {
    const renewing = { pid: process.pid, while_pid: whilePid, generation }
    await writeJson(files.record, renewing)
    const signal = AbortSignal.any([context.signal, over.signal])
    const begin = (task: Task) => {
      report(context, { type: 'renewing', ...renewing })
      onHeld(task)
    }
    let why = ''
    const onRefused = (error: Error) => {
      why = `: ${failureWords(error)}`
    }
    await bridge.tasks.keep(held, { signal, onHeld: begin, onRefused }).catch((error: unknown) => {
      if (!over.signal.aborted) throw error
    })
    if (context.signal.aborted) throw new CommandError('interrupted', 'interrupted')
    if (!over.signal.aborted && (await isCurrent(paths.claims, held)))
      throw new CommandError('claim_lost', `the claim was lost${why}`, { hint: 'stop the work' })
  } finally {
    clearInterval(timer)
    await rm(files.record, { force: true })
    await rm(files.lock, { force: true })
    lock.release()
  }
}

/** Starts the process that renews, and returns after its first renewal. It has no terminal and no pipe. */
export async function renewInBackground(context: CliContext, id: string, whilePid: number): Promise<void> {
  const { environment, settings, output } = context
  const [, program = ''] = process.argv
  const words = ['task', 'renew', id, '--while-pid', String(whilePid), '--profile', settings.profile]
  const child = spawn(process.execPath, [program, ...words], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...environment, [reportsTo]: String(process.pid) },
  })
  const said = await firstReport(child, context.signal)
  child.unref()
  output.note(textOf(said))
}

interface Report extends Renewing {
  readonly type: 'renewing' | 'taken'
}

const textOf = ({ type, pid, while_pid }: Report): string => {
  const verb = type === 'taken' ? 'already renews' : 'renews'
  return `process ${pid} ${verb} the claim until the task ends or process ${while_pid} is gone`
}

/** Variable that {@link renewInBackground} sets for its child, which then reports over its channel. */
const reportsTo = 'BRIDGE_RENEWS_FOR'

function report({ environment, output }: CliContext, said: Report): void {
  if (environment[reportsTo] === undefined) output.note(textOf(said))
  else process.send?.(said, () => process.disconnect())
}

function firstReport(child: ChildProcess, signal: AbortSignal): Promise<Report> {
  return new Promise((resolve, reject) => {
    const fail = (how: string) =>
      reject(
        new CommandError('unexpected', `the claim is not renewed in the background: ${how}`, {
          hint: 'bridge task renew renews it once and shows the failure',
        }),
      )
    child
      .once('message', (said) => resolve(said as Report))
      .once('error', ({ message }) => fail(message))
      .once('exit', (code, name) => fail(`its process ended with ${code ?? name}`))
    signal.addEventListener('abort', () => child.kill(), { once: true })
  })
}

const filesOf = (folder: string, id: string) => ({
  lock: join(folder, `${id}.lock`),
  record: join(folder, `${id}.renewing.json`),
})

/** Takes the lock, or returns the process that already renews this claim. @throws CommandError `conflict` */
async function lockOrOther(
  { signal, sleep = (ms) => pause(ms, undefined, { signal }) }: CliContext,
  files: ReturnType<typeof filesOf>,
  generation: number,
): Promise<
  | { readonly lock: Lock; readonly other?: undefined }
  | { readonly lock?: undefined; readonly other: Renewing }
> {
  for (let tries = 1; ; tries += 1) {
    const lock = await takeLock(files.lock)
    if (lock !== undefined) return { lock }
    const other = await renewingOf(files.record)
    if (other?.generation === generation) return { other }
    if (tries === lockPace.tries)
      throw new CommandError(
        'conflict',
        'another process still holds the lock of an earlier claim of this task',
      )
    await sleep(lockPace.everyMs, signal)
  }
}

async function renewingOf(path: string): Promise<Renewing | undefined> {
  const { pid, while_pid, generation } = (await readJson(path, 'unexpected')) ?? {}
  const isWhole = typeof pid === 'number' && typeof while_pid === 'number' && typeof generation === 'number'
  return isWhole ? { pid, while_pid, generation } : undefined
}

/** Whether commands of this profile still act for this claim. Another claim of the task has another generation. */
async function isCurrent(folder: string, { id, claim }: HeldTask): Promise<boolean> {
  const stored = await findClaim(folder, id).catch(() => undefined)
  return stored?.claim?.generation === claim?.generation
}
