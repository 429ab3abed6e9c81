/** A failure in words, with the command that helps and the number of the request. */
import { useMemo } from 'preact/hooks'
import { BridgeError } from '../../../../sdk/browser.ts'
import { elapsedMs, moment, now } from '../clock.ts'
import { refusedBecause } from '../words/refusals.ts'

export function Refusal({
  error,
  command,
}: {
  readonly error: unknown
  readonly command?: string | undefined
}) {
  if (error === undefined) return null
  const refused = refusedBecause(error)
  const help = refused.command ?? command
  const isLimited = error instanceof BridgeError && error.code === 'rate_limited'
  return (
    <div class="refusal" role="alert">
      <p>{isLimited ? <Wait error={error} /> : refused.words}</p>
      {help !== undefined && (
        <p>
          On the host of the node: <code>{help}</code>
        </p>
      )}
      {refused.requestId !== undefined && <p class="meta">Request {refused.requestId}</p>}
    </div>
  )
}

/**
 * Seconds until the node takes another try. A timer is not announced, so a screen reader says only its first
 * number.
 */
function Wait({ error }: { readonly error: BridgeError }) {
  const since = useMemo(moment, [error])
  const left = Math.ceil(((error.retryAfterMs ?? 1000) - elapsedMs(since, now.value)) / 1000)
  if (left <= 0) return <>Too many tries. Try again now.</>
  return (
    <>
      Too many tries. Try again in <span role="timer">{left} s</span>.
    </>
  )
}
