/**
 * Watches the permission of an agent during an upload or download. While bytes move, the agent's session is
 * alive. They stop immediately when permission is lost.
 *
 * Each notice for the agent causes a check. Messages cause notices too, so several notices may share one
 * check.
 *
 * Contract §3 "Revoking … ends its waits, streams, uploads and downloads at once", §5 "an open wait or
 * upload".
 */
import type { Context } from '../../context.ts'
import type { Db } from '../../database/tables.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { type Admitted, admit } from '../../identity/admission.ts'
import type { AgentCaller } from '../../identity/callers.ts'

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
      if (watched !== undefined) await check(db, agent, watched)
    })
  const recheck = async () => {
    isChecking = true
    try {
      while (isNoticed && !hasEnded) {
        isNoticed = false
        await confirm()
      }
    } catch (error) {
      stop.abort(error)
    } finally {
      isChecking = false
    }
  }
  const cleanups = [
    context.wakeups.subscribe(caller.agent_id, () => {
      isNoticed = true
      if (!isChecking) void recheck()
    }),
  ]
  return {
    signal: stop.signal,
    watch(transfer) {
      watched = transfer
      cleanups.push(context.presence.openMove(caller.agent_id, caller.session_id ?? ''))
      return confirm()
    },
    end() {
      hasEnded = true
      for (const cleanUp of cleanups.splice(0)) cleanUp()
    },
  }
}
