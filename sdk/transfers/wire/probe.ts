/**
 * Whether an address leads to a helper of ours, found out as its recipient will: by the token, over the same TLS, following
 * nothing.
 *
 * - The digest of the manifest is what only a helper that has it can know; who merely answers does not.
 * - A tunnel may take its time to come up, and say so with errors or pages of its own: those are asked again. A redirect, a
 *   certificate and another helper are no accident, and told at once.
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

/** How long an address is asked. */
export interface ProbeOptions {
  readonly signal?: AbortSignal | undefined
  /** For so long it is asked again; 20 seconds when absent. */
  readonly withinMs?: number | undefined
  /** For so long one answer is waited for; 10 seconds when absent. */
  readonly attemptMs?: number | undefined
}

const pauseMs = 250

/**
 * Ask the address of a helper until the helper of this manifest answers.
 *
 * @throws LocalError `redirected`, `certificate_refused`, `insecure_url`; `integrity` for the helper of another file;
 *   `bad_response` for what is no helper, or one that does not know the token; `unreachable`, `timeout`; `aborted`
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

/** For the user a helper that refuses is no helper of this file. */
function wordsOf(error: unknown): unknown {
  if (!(error instanceof HelperError)) return error
  const words =
    error.code === 'invalid_token'
      ? 'another helper answered: it does not know the token'
      : `what answered refused with ${error.code}`
  return new LocalError('bad_response', words, { cause: error })
}
