/** Filters of the audit: kind, actor, subject and time. A change goes into the address at once. */
import { useEffect, useId, useState } from 'preact/hooks'
import { nodeNow } from '../../node-clock.ts'
import { Choice } from '../../parts/choice.tsx'
import { Field } from '../../parts/field.tsx'
import { preferences } from '../../preferences.ts'
import { kinds, kindWords } from '../../words/audit.ts'
import { type Filters, fieldOf, isFiltered, isId, timeOf } from './filters.ts'

interface Props {
  readonly filters: Filters
  /** Ids and names of those who may have acted. */
  readonly actors: readonly (readonly [id: string, name: string])[]
  readonly change: (filters: Filters) => void
}

const spans: readonly (readonly [hours: number, words: string])[] = [
  [1, 'Last hour'],
  [24, 'Last day'],
  [168, 'Last week'],
]

export function FilterForm({ filters, actors, change }: Props) {
  const { kind = '', actor = '' } = filters
  const known = actors.some(([id]) => id === actor) || actor === ''
  return (
    <form class="audit-filters" onSubmit={(event) => event.preventDefault()}>
      <Choice
        label="Kind"
        value={kind}
        options={[['', 'all'], ...kinds.map((each) => [each, kindWords(each)] as const)]}
        change={(to) => change({ ...filters, kind: to === '' ? undefined : to })}
      />
      <Choice
        label="Actor"
        value={actor}
        options={[['', 'everybody'], ...actors, ...(known ? [] : [[actor, `…${actor.slice(-6)}`] as const])]}
        change={(to) => change({ ...filters, actor: to === '' ? undefined : to })}
      />
      <Subject value={filters.subject} change={(subject) => change({ ...filters, subject })} />
      <Time label="Since" value={filters.since} change={(since) => change({ ...filters, since })} />
      <Time label="Until" value={filters.until} change={(until) => change({ ...filters, until })} />
      <p class="actions">
        {spans.map(([hours, words]) => (
          <button
            key={hours}
            type="button"
            class="quiet"
            onClick={() =>
              change({
                ...filters,
                since: new Date(nodeNow.peek() - hours * 3_600_000).toISOString(),
                until: undefined,
              })
            }
          >
            {words}
          </button>
        ))}
        <button type="button" class="quiet" disabled={!isFiltered(filters)} onClick={() => change({})}>
          Clear the filters
        </button>
      </p>
    </form>
  )
}

interface PartProps {
  readonly value: string | undefined
  readonly change: (value: string | undefined) => void
}

/** Takes effect when it has a whole id, or none. */
function Subject({ value = '', change }: PartProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const id = text.trim().toLowerCase()
  return (
    <Field
      label="Subject"
      value={text}
      hint="Id of an agent, a task, a message…"
      fault={id === '' || isId(id) ? undefined : 'Not a whole id'}
      change={(to) => {
        setText(to)
        const typed = to.trim().toLowerCase()
        if ((typed === '' || isId(typed)) && typed !== value) change(typed === '' ? undefined : typed)
      }}
    />
  )
}

function Time({ label, value, change }: PartProps & { readonly label: string }) {
  const id = useId()
  const { zone } = preferences.value
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="datetime-local"
        step="1"
        value={fieldOf(value, zone)}
        aria-describedby={`${id}-hint`}
        onChange={({ currentTarget }) => change(timeOf(currentTarget.value, zone))}
      />
      <span id={`${id}-hint`} class="meta">
        {zone === 'utc' ? 'UTC' : 'Time of this machine'}
      </span>
    </p>
  )
}
