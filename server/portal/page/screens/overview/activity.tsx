/** The latest records of the audit, newest first, in words. */
import type { AuditRecord } from '../../../../../sdk/browser.ts'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { actorName, actWords, kindSentence, subjectAddress } from '../../words/audit.ts'

interface Props {
  readonly project: string
  readonly records: readonly AuditRecord[]
}

export function Activity({ project, records }: Props) {
  return (
    <section aria-labelledby="activity">
      <h2 id="activity">Activity</h2>
      <ol class="activity">
        {[...records].reverse().map((record) => (
          <li key={record.id}>
            <When at={record.at} />{' '}
            <span>
              <Visible text={actorName(record.actor)} /> <Act record={record} />
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

/** Words of the act, as a link if its subject has a screen. */
function Act({ record }: { readonly record: AuditRecord }) {
  const address = subjectAddress(record)
  const attributes = { class: 'kind', title: kindSentence(record.kind) }
  return address === undefined ? (
    <span {...attributes}>{actWords(record)}</span>
  ) : (
    <a {...attributes} href={address}>
      {actWords(record)}
    </a>
  )
}
