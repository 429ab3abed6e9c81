/**
 * The hook between two tools. It runs after every tool, so it makes no request: it reads the file that the
 * waiter keeps, at most once in 10 seconds.
 */
import { readObject, touch, touchedAt } from './files.ts'
import { tell } from './ledger-file.ts'
import { notice } from './notice.ts'
import { type HookParts, readerOf } from './parts.ts'
import { parseUnread } from './unread.ts'
import { runningWaiter } from './waiter-record.ts'

const pauseMs = 10_000

export async function tellBetweenTools(parts: HookParts): Promise<void> {
  const { context, session, say, note } = parts
  const { places, name } = session
  const now = context.clock()
  // The waiter leaves the mail to the hooks while a turn runs.
  touch(places.turn(name), now)
  const stored = readObject(places.mail)
  const unread = parseUnread(stored)
  if (unread === undefined || unread.total === 0 || stored?.session !== name) return
  const looked = touchedAt(places.looked(name))
  if (looked !== undefined && now.getTime() >= looked && now.getTime() - looked < pauseMs) return
  // The file of a waiter that was killed may name messages that are acknowledged meanwhile.
  if (runningWaiter(places) === undefined) return
  touch(places.looked(name), now)
  const print = () => say(notice(unread, readerOf(parts)))
  const { outcome } = await tell(places, name, { unread, clock: context.clock, when: 'due', print })
  if (outcome === 'told') note('noticed')
}
