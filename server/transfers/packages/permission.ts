/**
 * Watches the permission of an agent during an upload or download. While bytes move, the agent's session is
 * alive. They stop immediately when permission is lost.
 *
 * Each notice for the agent causes a check. Messages cause notices too, so several notices may share one
 * check. Another node may have changed the permission or ended the transfer, so a check also runs 1.2
 * seconds after the last one. A check that takes longer than that stops the bytes. So none moves for more than
 * 2.4 seconds after the commit that forbids it.
 *
 * Contract §3 "Revoking … ends its waits, streams, uploads and downloads at once", §5 "an open wait or
 * upload".
 */
import { PartError } from '../../../sdk/parts/part-error.ts'
import { runningTime } from '../../../sdk/parts/running-time.ts'
import { ApiError } from '../../api-error.ts'
import type { Context } from '../../context.ts'
import type { Db } from '../../database/tables.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { type Admitted, admit } from '../../identity/admission.ts'
import type { AgentCaller } from '../../identity/callers.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { isOpen } from '../store.ts'

/** Checks the conditions that admission does not cover. @throws ApiError */
export type PermissionCheck = (db: Db, agent: Admitted, transfer: TransferRow) => Promise<void>

export interface PermissionWatch {
  /** Aborted with the refusal when permission is lost. */
  readonly signal: AbortSignal
  /**
   * Starts to count as moving bytes of this transfer. Checks permission, which may have been lost before.
   * @throws ApiError
   */
  watch(transfer: TransferRow): Promise<void>
  end(): void
}

const everyMs = 1200

/** @throws unavailable if the check takes too long */
async function inTime(check: Promise<void>): Promise<void> {
  const answered = new AbortController()
  const late = runningTime(everyMs, answered.signal).then(() => {
    throw new ApiError('unavailable', {
      message: 'The node could not check in time whether the bytes may still move. Send the request again.',
      retryAfterMs: retryAfterMs.immediately,
    })
  })
  late.catch(() => {})
  try {
    await Promise.race([check, late])
  } finally {
    answered.abort()
    check.catch(() => {})
  }
}

/** Starts to watch. Must be called before admission, so that no notice is missed in between. */
export function watchPermission(
  context: Context,
  caller: AgentCaller,
  check: PermissionCheck,
): PermissionWatch {
  const stop = new AbortController()
  let watched: TransferRow | undefined
  let isNoticed = false
  let isChecking = false
  let hasEnded = false

  const confirm = () =>
    context.read(async (db) => {
      const agent = await admit(db, caller, context.clock())
      if (watched === undefined) return
      await check(db, agent, watched)
      if (!(await isOpen(db, watched.id))) throw new PartError('expired')
    })
  const recheck = async () => {
    isChecking = true
    try {
      while (isNoticed && !hasEnded) {
        isNoticed = false
        await inTime(confirm())
      }
    } catch (error) {
      stop.abort(error)
    } finally {
      isChecking = false
    }
  }
  const notice = () => {
    isNoticed = true
    if (!isChecking) void recheck()
  }
  let timer: NodeJS.Timeout | undefined
  const cleanups = [context.wakeups.subscribe(caller.agent_id, notice), () => clearInterval(timer)]
  return {
    signal: stop.signal,
    watch(transfer) {
      watched = transfer
      const { agent_id, project_id, session_id = '' } = caller
      cleanups.push(context.presence.openMove({ agent_id, project_id, session: { id: session_id } }))
      timer = setInterval(notice, everyMs).unref()
      return confirm()
    },
    end() {
      hasEnded = true
      for (const cleanUp of cleanups.splice(0)) cleanUp()
    },
  }
}
