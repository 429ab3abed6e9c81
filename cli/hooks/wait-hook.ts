/** `hooks run <harness> wait`: decides whether a waiter may run, and how it wakes the session. */
import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { harnessProcess, processOf } from './harness-process.ts'
import { type Harness, harnesses, momentOf } from './harnesses.ts'
import { notice } from './notice.ts'
import { type HookExit, type HookParts, readerOf } from './parts.ts'
import { sessionName } from './session.ts'
import { terminalsOf } from './terminals.ts'
import type { Unread } from './unread.ts'
import { wait } from './waiter.ts'

const queueMs = 20_000

export async function waitForMail(parts: HookParts): Promise<HookExit> {
  const { context, session, note } = parts
  const { harness, input } = session
  const { environment } = context
  const { wake }: Harness = harnesses[harness]
  // Other entry points wait for the hook, which would hold up their end for hours.
  if (harness === 'claude' && environment.CLAUDE_CODE_ENTRYPOINT !== 'cli') return 0
  if (wake === undefined) return 0
  const owner = harnessProcess(
    harness === 'claude' ? environment.CLAUDE_PID : undefined,
    context.process.parent,
  )
  const folder = input.folder ?? context.workingDirectory
  const terminals = harness === 'codex' ? terminalsOf(owner, folder) : undefined
  const startedBy = input.fields.hook_event_name
  const end = await wait(context, session, {
    harness: owner,
    own: processOf(context.process.pid),
    isStart: typeof startedBy === 'string' && momentOf(harness, startedBy) === 'start',
    endsWithWake: wake !== 'queue',
    wake: (name, unread) => wakers[wake](parts, name, unread, owner.pid),
    log: note,
    isLeft: () => terminals?.areGone() === true,
  })
  return end === 'woke' && wake === 'exit' ? 2 : 0
}

type Waker = (parts: HookParts, name: string, unread: Unread, harnessPid: number) => void | Promise<void>

const wakers: Readonly<Record<NonNullable<Harness['wake']>, Waker>> = {
  exit: (parts, _name, unread) => parts.context.err(`${notice(unread, readerOf(parts))}\n`),
  print: (parts, _name, unread) => parts.say(notice(unread, readerOf(parts))),
  queue: async (parts, name, unread, pid) => {
    const { context, session } = parts
    const thread = name.slice(sessionName(session.harness, '').length)
    const { execFile } = await import('node:child_process')
    const args = ['queue', '--thread', thread, '--message', notice(unread, readerOf(parts))]
    await new Promise<void>((resolve, reject) => {
      const options = { timeout: queueMs, signal: context.signal }
      execFile(codexProgram(pid), args, options, (error) => (error === null ? resolve() : reject(error)))
    })
  },
}

/** The program of the running harness, else the one of PATH. */
function codexProgram(pid: number): string {
  try {
    const path = readlinkSync(`/proc/${pid}/exe`)
    if (/^codex/.test(basename(path))) return path
  } catch {
    // Not Linux.
  }
  return 'codex'
}
