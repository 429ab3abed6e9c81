/** One record of the audit. It opens in place: ids, details, and the JSON as the node gives it. */
import { useState } from 'preact/hooks'
import { type AuditRecord, plainJson } from '../../../../../sdk/browser.ts'
import { Copy } from '../../parts/copy.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import {
  actorKind,
  actorName,
  kindSentence,
  kindWords,
  subjectAddress,
  subjectType,
} from '../../words/audit.ts'
import { addressOf } from './filters.ts'

interface Props {
  readonly record: AuditRecord
  readonly path: string
}

export function Record({ record, path }: Props) {
  const [isOpen, open] = useState(false)
  const { at, kind, actor, subject } = record
  return (
    <li>
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary>
          <When at={at} isExact />
          <span>{kindWords(kind)}</span>
          <span>
            <Visible text={actorName(actor)} />
          </span>
          <span class="meta">
            <Visible text={subjectType(subject.type)} /> {subject.id !== null && tail(subject.id)}
          </span>
        </summary>
        {isOpen && <Inside record={record} path={path} />}
      </details>
    </li>
  )
}

/** The last characters of an id differ most. */
const tail = (id: string): string => `…${id.slice(-6)}`

function Inside({ record, path }: Props) {
  const { id, at, kind, actor, subject, project_id, request_id, details } = record
  const address = subjectAddress(record)
  const json = plainJson(record)
  return (
    <div class="inside">
      <p>{kindSentence(kind) ?? 'A kind of a newer node.'}</p>
      <p class="actions">
        {address !== undefined && <a href={address}>Open the {subjectType(subject.type)}</a>}
        {subject.id !== null && (
          <a href={addressOf(path, { subject: subject.id })}>Everything about this subject</a>
        )}
        {actor.id !== null && <a href={addressOf(path, { actor: actor.id })}>Everything by this actor</a>}
      </p>
      <dl class="facts">
        <dt>Time</dt>
        <dd>
          <code>{at}</code>
        </dd>
        <dt>Kind</dt>
        <dd>
          <code>
            <Visible text={kind} />
          </code>
        </dd>
        <dt>Actor</dt>
        <dd>
          <Visible text={actorName(actor)} /> <span class="meta">{actorKind(actor)}</span>{' '}
          <Id id={actor.id} />
        </dd>
        <dt>Subject</dt>
        <dd>
          <Visible text={subjectType(subject.type)} /> <Id id={subject.id} />
        </dd>
        {project_id !== null && (
          <>
            <dt>Project</dt>
            <dd>
              <Id id={project_id} />
            </dd>
          </>
        )}
        {request_id !== null && (
          <>
            <dt>Request</dt>
            <dd>
              <Id id={request_id} />
            </dd>
          </>
        )}
        <dt>Record</dt>
        <dd>
          <Id id={id} />
        </dd>
        {Object.entries(details).map(([name, value]) => (
          <Detail key={name} name={name} value={value} />
        ))}
      </dl>
      <details>
        <summary>JSON</summary>
        <pre class="json">{json}</pre>
        <Copy text={json} label="Copy the JSON" isQuiet />
      </details>
    </div>
  )
}

function Id({ id }: { readonly id: string | null }) {
  if (id === null) return null
  return (
    <span class="id">
      <code>
        <Visible text={id} />
      </code>
      <Copy text={id} label="Copy" isQuiet />
    </span>
  )
}

function Detail({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <>
      <dt>
        <Visible text={name.replaceAll('_', ' ')} />
      </dt>
      <dd>
        {value === null ? 'none' : <Visible text={typeof value === 'string' ? value : plainJson(value)} />}
      </dd>
    </>
  )
}
