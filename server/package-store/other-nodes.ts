/** Other nodes that may move bytes of a transfer whose end is committed. A lone node waits for none. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Nodes } from '../database/nodes.ts'

/** Time in which every node has stopped them; see `server/transfers/packages/permission.ts`. */
const stoppedMs = 2500

/** Whether another node may be alive. */
export async function hasOthers(nodes: Pick<Nodes, 'id' | 'list'>): Promise<boolean> {
  const alive = await nodes.list().catch(() => undefined)
  return alive === undefined || alive.some(({ id }) => id !== nodes.id)
}

/** Resolves when no other node moves bytes of transfers whose end was committed before the call. */
export async function stoppedEverywhere(nodes: Pick<Nodes, 'id' | 'list'>): Promise<void> {
  if (await hasOthers(nodes)) await pause(stoppedMs, undefined, { ref: false })
}
