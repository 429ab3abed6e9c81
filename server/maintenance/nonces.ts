/** Removing nonces that lie behind the window, a batch a transaction, so that no request waits for it. */
import type { Context } from '../context.ts'
import type { Nonces } from '../database/nonces.ts'

const everyMs = 15_000

export async function purgeNonces(context: Context, nonces: Nonces): Promise<void> {
  let more = true
  while (more && !context.stopping.aborted) more = (await context.write((tx) => nonces.purge(tx))).more
}

/** Runs until the returned function is called. */
export function startNoncePurge(context: Context, nonces: Nonces): () => void {
  const timer = setInterval(() => {
    purgeNonces(context, nonces).catch((error: unknown) =>
      context.log.error({ err: error }, 'nonces were not purged'),
    )
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
