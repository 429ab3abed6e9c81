/** Hooks at the start of a session and around a turn. They read the inbox at the node. */
import { appendFileSync } from 'node:fs'
import type { AgentReader } from '../../sdk/reader.ts'
import { removeFile, touch, touchedAt } from './files.ts'
import { harnessProcess } from './harness-process.ts'
import { type Harness, harnesses } from './harnesses.ts'
import { type Holder, hold } from './holder.ts'
import { tell } from './ledger-file.ts'
import { saysNoMail } from './no-mail.ts'
import { openHookReader } from './node.ts'
import { digest, heldElsewhere, notice } from './notice.ts'
import { type HookParts, readerOf } from './parts.ts'
import { bindSession, type HookSession } from './session.ts'
import { tidy } from './tidy.ts'
import { readUnread, type Unread } from './unread.ts'

/** Milliseconds after the start in which a prompt relies on what the hook of the start found. */
const startMs = 3000

/** Binds the session to its profile and prints a digest of what is pending. */
export async function tellAtStart(parts: HookParts): Promise<void> {
  const { context, session, say } = parts
  const { profile, places, harness } = session
  tidy(context.home, places, context.clock())
  bindSession(context, session)
  const other = await otherHolder(parts, true)
  if (other !== undefined) {
    say(
      heldElsewhere(profile, harness, { harness: other.harness, pid: other.process.pid, since: other.since }),
    )
    return
  }
  exportProfile(parts)
  const reader = await openHookReader(context, profile)
  const [unread, tasks] = await Promise.all([readUnread(reader, context), claimedTasks(parts, reader)])
  const text = digest(unread, { tasks }, readerOf(parts))
  if (text !== undefined) await tellSession(parts, unread, 'always', text)
  const empty = places.empty(session.name)
  if (unread.total === 0) touch(empty, new Date(unread.at))
  else removeFile(empty)
}

export async function tellAtPrompt(parts: HookParts): Promise<void> {
  const { context, session } = parts
  const now = context.clock()
  touch(session.places.turn(session.name), now)
  if (!hasJustFoundNothing(session, now)) await tellIfDue(parts, true)
}

/**
 * Whether the hook of the start has just found no mail, and no waiter has found any since. A session that starts
 * with its prompt (`claude -p`) runs both hooks at once. The end of the turn tells a message that comes between them.
 */
function hasJustFoundNothing({ places, name }: HookSession, now: Date): boolean {
  const at = touchedAt(places.empty(name))
  return at !== undefined && now.getTime() >= at && now.getTime() - at < startMs
}

/**
 * Continues a turn that is about to end, at most once: a turn that a hook has continued ends.
 *
 * The mark of the turn goes first: a message that the waiter has not seen by then wakes the idle session.
 * `codex exec` is never idle, so with Codex the hook asks the node.
 */
export async function tellAtStop(parts: HookParts): Promise<void> {
  const { input, name, places } = parts.session
  removeFile(places.turn(name))
  if (input.isContinued) return
  const { wake }: Harness = harnesses[parts.session.harness]
  if (await tellIfDue(parts, wake !== 'queue')) touch(places.turn(name), parts.context.clock())
}

/** Returns whether it told the session. */
async function tellIfDue(parts: HookParts, trustsWaiter: boolean): Promise<boolean> {
  const { context, session } = parts
  if ((await otherHolder(parts, false)) !== undefined) return false
  if (trustsWaiter && saysNoMail(session.places, context.clock())) return false
  const unread = await readUnread(await openHookReader(context, session.profile), context)
  return unread.total > 0 && tellSession(parts, unread, 'due', notice(unread, readerOf(parts)))
}

async function tellSession(
  parts: HookParts,
  unread: Unread,
  when: 'due' | 'always',
  text: string,
): Promise<boolean> {
  const { context, session, say, note } = parts
  const { outcome } = await tell(session.places, session.name, {
    unread,
    clock: context.clock,
    when,
    print: () => say(text),
  })
  if (outcome === 'told') note('noticed')
  return outcome === 'told'
}

/** Number of claimed tasks. A credential without the scope for tasks has none. */
async function claimedTasks({ context }: HookParts, reader: AgentReader): Promise<number> {
  const { signal } = context
  const list = reader.listTasks({ role: 'assignee', state: 'claimed', limit: 100 }, { signal })
  return list.then(
    ({ tasks }) => tasks.length,
    () => 0,
  )
}

/** Returns the other session that holds the profile, if there is one. */
export async function otherHolder(
  { context, session }: HookParts,
  isStart: boolean,
): Promise<Holder | undefined> {
  const { environment, process, clock } = context
  const { harness, name, places } = session
  const owner = harnessProcess(harness === 'claude' ? environment.CLAUDE_PID : undefined, process.parent)
  return hold(places, { harness, session: name, process: owner, since: clock().toISOString() }, isStart)
}

/** Claude Code reads this file before each command of its Bash tool. */
function exportProfile({ context, session, note }: HookParts): void {
  const path = context.environment.CLAUDE_ENV_FILE
  if (session.harness !== 'claude' || !path) return
  try {
    appendFileSync(path, `export BRIDGE_PROFILE=${session.profile}\n`)
  } catch (error) {
    note('export', error)
  }
}
