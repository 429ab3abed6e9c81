/**
 * Checks that an address leads to the expected helper.
 *
 * The request is the same as the recipient's, with the same token and TLS verification, and follows no
 * redirect.
 *
 * - Only a helper that has the manifest knows its digest, so the digest identifies it.
 * - While a tunnel starts, it may answer with errors and pages of its own, and these are retried. A redirect,
 *   a bad certificate or another helper fails immediately.
 *
 * Spec §4.5, §5; contract §9 "Direct mode".
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { TransferStatus } from '../../contract/helper/endpoints.ts'
import type { Manifest } from '../../contract/helper/manifest.ts'
import { HelperError, LocalError } from '../../transport/failures.ts'
import { isTemporary } from '../../transport/temporary.ts'
import { Connection } from './connection.ts'
import { type HelperEndpoint, helperEndpoint } from './endpoint.ts'
import { manifestDigest } from './manifest.ts'

/** Options of a probe. */
export interface ProbeOptions {
  readonly signal?: AbortSignal | undefined
  /** Time limit of all attempts. 20 seconds by default. */
  readonly withinMs?: number | undefined
  /** Time limit of one attempt. 10 seconds by default. */
  readonly attemptMs?: number | undefined
}

const pauseMs = 250

/**
 * Repeats the request until the helper of this manifest answers.
 *
 * @throws LocalError `redirected`, `certificate_refused`, `insecure_url`, `unreachable`, `timeout`,
 * `aborted`. LocalError `integrity` for the helper of another file. LocalError `bad_response` if the answer
 * is not a helper's, or is that of a helper with another token.
 */
export async function probeHelper(
  endpoint: HelperEndpoint,
  manifest: Manifest,
  { signal, withinMs = 20_000, attemptMs = 10_000 }: ProbeOptions = {},
): Promise<void> {
  const line = new Connection(helperEndpoint(endpoint))
  const late = AbortSignal.timeout(withinMs)
  const either = signal === undefined ? late : AbortSignal.any([signal, late])
  try {
    for (;;) {
      try {
        return await askOnce(line, manifest, { signal, attemptMs })
      } catch (error) {
        const mayComeUp = isTemporary(error, 'tunnel')
        if (mayComeUp) await pause(pauseMs, undefined, { signal: either }).catch(() => {})
        if (signal?.aborted === true)
          throw new LocalError('aborted', 'given up by the caller', { cause: error })
        if (late.aborted || !mayComeUp) throw wordsOf(error)
      }
    }
  } finally {
    line.close()
  }
}

async function askOnce(
  line: Connection,
  manifest: Manifest,
  { signal, attemptMs }: { readonly signal: AbortSignal | undefined; readonly attemptMs: number },
): Promise<void> {
  const late = AbortSignal.timeout(attemptMs)
  const either = signal === undefined ? late : AbortSignal.any([signal, late])
  const ask = { method: 'GET', path: '/status', signal: either, idleMs: attemptMs } as const
  const status = await line
    .ask<TransferStatus>(ask, ['transfer_id', 'manifest_digest'])
    .catch((error: unknown) => {
      if (late.aborted) throw new LocalError('timeout', `nothing answered in ${attemptMs / 1000} s`)
      throw error
    })
  const isOurs =
    status.transfer_id === manifest.transfer_id && status.manifest_digest === manifestDigest(manifest)
  if (!isOurs) throw new LocalError('integrity', 'a helper of another file answered')
}

/** Returns the error for the user. A helper that refuses the request is not the helper of this file. */
function wordsOf(error: unknown): unknown {
  if (!(error instanceof HelperError)) return error
  const words =
    error.code === 'invalid_token'
      ? 'another helper answered: it does not know the token'
      : `what answered refused with ${error.code}`
  return new LocalError('bad_response', words, { cause: error })
}
