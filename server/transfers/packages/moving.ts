/**
 * Bytes that one agent moves: while they do, its session is alive, and they end at once with its right to move them.
 *
 * Each notice for the agent makes the node check the right again. Messages cause notices too, so one read serves
 * several.
 *
 * Contract §3 "Revoking … ends its waits, streams, uploads and downloads at once", §5 "an open wait or upload".
 */
import type { Context } from '../../context.ts'
import type { Db } from '../../database/tables.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { type Admitted, admit } from '../../identity/admission.ts'
import type { AgentCaller } from '../../identity/callers.ts'

/** The conditions that admission does not check. @throws ApiError */
export type Right = (db: Db, agent: Admitted, transfer: TransferRow) => Promise<void>

export interface Moving {
  /** Its reason is the refusal that ended the right. */
  readonly signal: AbortSignal
  /** Bytes of the transfer move from now on. Checks the right, which may have ended before. @throws ApiError */
  of(transfer: TransferRow): Promise<void>
  end(): void
}

/** Call it before admission, so that no notice is missed in between. */
export function beginMoving(context: Context, caller: AgentCaller, right: Right): Moving {
  const stop = new AbortController()
  let moved: TransferRow | undefined
  let isNoticed = false
  let isAsking = false
  let isOver = false

  const confirm = () =>
    context.read(async (db) => {
      const agent = await admit(db, caller, context.clock())
      if (moved !== undefined) await right(db, agent, moved)
    })
  const answer = async () => {
    isAsking = true
    try {
      while (isNoticed && !isOver) {
        isNoticed = false
        await confirm()
      }
    } catch (error) {
      stop.abort(error)
    } finally {
      isAsking = false
    }
  }
  const undo = [
    context.wakeups.subscribe(caller.agent_id, () => {
      isNoticed = true
      if (!isAsking) void answer()
    }),
  ]
  return {
    signal: stop.signal,
    of(transfer) {
      moved = transfer
      undo.push(context.presence.openMove(caller.agent_id, caller.session_id ?? ''))
      return confirm()
    },
    end() {
      isOver = true
      for (const each of undo.splice(0)) each()
    },
  }
}
