/**
 * Waits of live views: for the next commit, after which they read again, and for a change of the presence of
 * an agent.
 *
 * - Several commits within 50 ms cause two reads at most. A commit of a command on the host causes no notice;
 *   the reader finds it because it reads at least every two seconds.
 * - Changes of presence end a wait at most once a second for each sign-in and project.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { type Overdue, overdueSince } from './overdue.ts'

/** Minimum delay between two reads of one waiter, however many commits there are. */
const minIntervalMs = 50

/** Minimum delay between two answers about presence. */
const presenceIntervalMs = 1000

/** Why a wait goes on: `read` again, answer a change of `presence`, or `ended`. */
export type Cause = 'read' | 'presence' | 'ended'

export interface ViewWait {
  /** Resolves when it is time to read again, after 2 seconds at the latest. */
  next(): Promise<Cause>
  /** Records that the change of presence is answered. */
  told(): void
  close(): void
}

interface View {
  readonly sessionId: string
  readonly projectId: string
}

export function openViewWait(
  context: Context,
  { sessionId, projectId }: View,
  waitMs: number,
  disconnected: AbortSignal,
): ViewWait {
  const { monotonicMs, ownerViews, presenceChanges, steady } = context
  const deadline = monotonicMs() + waitMs
  const ended = AbortSignal.any([disconnected, context.stopping])
  const version = () => presenceChanges.version(projectId)
  const fresh = { version: version(), at: steady.now(), toldMs: Number.NEGATIVE_INFINITY }
  const seen = ownerViews.find(sessionId, projectId)
  if (seen === undefined) ownerViews.saw(sessionId, projectId, fresh)
  const { at: since, toldMs, version: seenVersion } = seen ?? fresh
  const mayTellFromMs = toldMs + presenceIntervalMs
  let committed = false
  let moved = seenVersion !== version()
  /** When the next agent becomes overdue. Undefined until it is read. */
  let overdue: Overdue | undefined
  let readMs = monotonicMs()
  let wake = () => {}
  const stopCommits = context.commits.subscribe(projectId, () => {
    committed = true
    wake()
  })
  const stopPresence = presenceChanges.subscribe(projectId, () => {
    // Only the first change of many wakes the wait.
    if (moved) return
    moved = true
    wake()
  })

  /** Reads again whether an agent became overdue, if the time of the next one has passed. */
  const checkOverdue = async () => {
    const now = steady.now()
    if (moved || (overdue !== undefined && (overdue.next === undefined || overdue.next >= now))) return
    overdue = await context.read((db) => overdueSince(context, db, projectId, since))
    moved ||= overdue.happened
  }

  const untilOverdueMs = () =>
    overdue?.next === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(0, overdue.next.getTime() - steady.now().getTime() + 1)

  const waitForNotice = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        ended.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      ended.addEventListener('abort', end, { once: true })
      wake = end
    })

  return {
    async next() {
      await checkOverdue()
      const left = deadline - monotonicMs()
      if (left <= 0 || ended.aborted) return 'ended'
      const recheckMs = Math.min(left, limits.recheckSeconds * 1000)
      if (!committed && !moved) await waitForNotice(Math.min(recheckMs, untilOverdueMs()))
      const earlyMs = mayTellFromMs - monotonicMs()
      if (!committed && moved && earlyMs > 0) await waitForNotice(Math.min(recheckMs, earlyMs))
      const againMs = readMs + minIntervalMs - monotonicMs()
      // If the wait has ended meanwhile, this rejects immediately and the result is `ended`.
      if (againMs > 0) await pause(againMs, undefined, { signal: ended }).catch(() => {})
      readMs = monotonicMs()
      committed = false
      if (ended.aborted) return 'ended'
      return moved && monotonicMs() >= mayTellFromMs ? 'presence' : 'read'
    },
    told() {
      ownerViews.saw(sessionId, projectId, { version: version(), at: steady.now(), toldMs: monotonicMs() })
    },
    close() {
      stopCommits()
      stopPresence()
    },
  }
}
