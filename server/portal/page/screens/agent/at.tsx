/** A time with its age. */
import { ago, exact } from '../../words/time.ts'

export function At({ at, nowMs }: { readonly at: string; readonly nowMs: number }) {
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(nowMs - Date.parse(at))}
    </time>
  )
}
