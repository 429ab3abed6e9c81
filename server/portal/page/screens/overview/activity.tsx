/** The latest records of the audit, newest first, in words. */
import type { AuditRecord } from '../../../../../sdk/browser.ts'
import { Visible } from '../../text/visible.tsx'
import { kindSentence, kindWords } from '../../words/audit.ts'
import { ago, exact } from '../../words/time.ts'

interface Props {
  readonly project: string
  readonly records: readonly AuditRecord[]
  readonly nowMs: number
}

export function Activity({ project, records, nowMs }: Props) {
  return (
    <section aria-labelledby="activity">
      <h2 id="activity">Activity</h2>
      <ol class="activity">
        {[...records].reverse().map(({ id, at, kind, actor }) => (
          <li key={id}>
            <time dateTime={at} title={exact(at)}>
              {ago(nowMs - Date.parse(at))}
            </time>{' '}
            <span>
              <Visible text={actor.name === '' ? actor.kind : actor.name} />{' '}
              <span class="kind" title={kindSentence(kind)}>
                {kindWords(kind)}
              </span>
            </span>
          </li>
        ))}
      </ol>
      <p>
        <a href={`/projects/${project}/audit`}>Older records in the audit</a>
      </p>
    </section>
  )
}
