/** Bounds how long an answer waits for a store of packages that does not answer. */
import { runningTime } from '../../sdk/parts/running-time.ts'

const waitMs = 2000

/** Resolves when the work ends, or after the time that an answer may wait for it. Rejects if the work does. */
export async function waitAtMost(work: Promise<unknown>): Promise<void> {
  const late = new AbortController()
  const waited = runningTime(waitMs, late.signal).catch(() => {})
  try {
    await Promise.race([work, waited])
  } finally {
    late.abort()
  }
}
