/** The latest records of the audit, newest first, in words. */
import type { AuditRecord } from '../../../../../sdk/browser.ts'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { actorName, kindSentence, kindWords } from '../../words/audit.ts'

interface Props {
  readonly project: string
  readonly records: readonly AuditRecord[]
}

export function Activity({ project, records }: Props) {
  return (
    <section aria-labelledby="activity">
      <h2 id="activity">Activity</h2>
      <ol class="activity">
        {[...records].reverse().map(({ id, at, kind, actor }) => (
          <li key={id}>
            <When at={at} />{' '}
            <span>
              <Visible text={actorName(actor)} />{' '}
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
