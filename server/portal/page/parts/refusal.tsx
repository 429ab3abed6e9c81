/** A failure in words, with the command that helps and the number of the request. */
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
  return (
    <div class="refusal" role="alert">
      <p>{refused.words}</p>
      {help !== undefined && (
        <p>
          On the host of the node: <code>{help}</code>
        </p>
      )}
      {refused.requestId !== undefined && <p class="meta">Request {refused.requestId}</p>}
    </div>
  )
}
