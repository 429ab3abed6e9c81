/**
 * Deletes nonces that are older than the proof window, in batches of one transaction each, so that requests
 * are not delayed.
 */

import type { Context } from '../context.ts'
import { noLane } from '../database/lanes.ts'
import type { Nonces } from '../database/nonces.ts'
import type { Job } from './job.ts'

const everyMs = 15_000
const jobName = 'nonces removed'

export const noncePurge = (nonces: Nonces): Job => ({
  name: jobName,
  begin: () => async (tx) => {
    const { removed, more } = await nonces.purge(tx)
    return { done: removed, more }
  },
})

export async function purgeNonces(context: Context, nonces: Nonces): Promise<void> {
  let more = true
  while (more && !context.stopping.aborted) {
    const batch = await context.write(noLane, (tx) => nonces.purge(tx))
    context.meters?.removed(jobName, batch.removed)
    more = batch.more
  }
}

/**
 * Runs every 15 seconds in addition to the hourly run, because a busy agent uses thousands of nonces per
 * hour. Only the node that leads does. Stops when the returned function is called.
 */
export function startNoncePurge(context: Context, nonces: Nonces): () => void {
  const timer = setInterval(() => {
    if (!context.nodes.leads()) return
    purgeNonces(context, nonces).catch((error: unknown) =>
      context.log.error({ err: error }, 'failed to delete old nonces'),
    )
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
