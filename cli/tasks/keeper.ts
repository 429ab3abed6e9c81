/**
 * Renews a claim while another process lives, in this process or in one that it starts in the background.
 *
 * - One process renews a claim: it holds a lock beside the file of the claim, and removes both its files at its end.
 * - It ends when that process is gone, when a command of this profile ended the task, and when the claim was lost.
 * - `bridge.tasks.keep` reads the task every 15 seconds, and so notices a lost claim or a revoked credential.
 *
 * Contract §8, §12.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { HeldTask, Task } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import { callerOf, isAlive, processOf } from '../hooks/harness-process.ts'
import { readJson, writeJson } from '../profile/json-file.ts'
import { takeLock } from '../profile/lock.ts'
import { findClaim } from './claims.ts'

const checkMs = 1000

/** Process that renews a claim, and the process that it watches. */
interface Renewing {
  readonly pid: number
  readonly while_pid: number
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
  const lock = await takeLock(files.lock)
  if (lock === undefined) return report(context, { type: 'taken', ...(await renewingOf(files.record)) })
  const watched = processOf(whilePid)
  const over = new AbortController()
  const check = async () => {
    if (!isAlive(watched) || !(await isCurrent(paths.claims, held))) over.abort()
  }
  const timer = setInterval(() => void check(), checkMs)
  try {
    const renewing = { pid: process.pid, while_pid: whilePid }
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

async function renewingOf(path: string): Promise<Renewing> {
  const { pid, while_pid } = (await readJson(path, 'unexpected')) ?? {}
  if (typeof pid === 'number' && typeof while_pid === 'number') return { pid, while_pid }
  throw new CommandError('conflict', 'another process has just begun to renew this claim')
}

/** Whether commands of this profile still act for this claim. Another claim of the task has another generation. */
async function isCurrent(folder: string, { id, claim }: HeldTask): Promise<boolean> {
  const stored = await findClaim(folder, id).catch(() => undefined)
  return stored?.claim?.generation === claim?.generation
}
