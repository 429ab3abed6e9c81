/** The audit of a project, or of the node: who did what, newest first. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReadPage } from '../../../../sdk/audit-export.ts'
import { limits } from '../../../../sdk/browser.ts'
import { useLiveProject } from '../live/project.ts'
import { owner, session } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { OwnerOnly } from '../parts/owner-only.tsx'
import { Older, usePages } from '../parts/page-of.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { plainName } from '../text/plain-name.ts'
import { plural } from '../words/plural.ts'
import { ExportButtons } from './audit/export-buttons.tsx'
import { FilterForm } from './audit/filter-form.tsx'
import { addressOf, type Filters, filtersOf, isFiltered, optionsOf } from './audit/filters.ts'
import { useNewRecords } from './audit/new-records.ts'
import { Record } from './audit/record.tsx'

type Actors = readonly (readonly [id: string, name: string])[]

export function ProjectAudit() {
  const { id = '' } = useParams()
  const live = useLiveProject(id)
  const agents = live.snapshot.value?.agents ?? []
  return (
    <Audit
      title="Audit"
      project={id}
      latest={live.snapshot.value?.activity.at(-1)?.id}
      actors={agents.map((agent) => [agent.id, plainName(agent.name)])}
    >
      <Silence live={live} />
    </Audit>
  )
}

export function NodeAudit() {
  const [actors, setActors] = useState<Actors>([])
  useEffect(() => {
    if (session.value?.user.role !== 'owner') return
    // Without their names, the administrators can still be chosen by the records.
    administrators().then(setActors, () => undefined)
  }, [])
  return (
    <OwnerOnly title="Audit of the node">
      <Audit title="Audit of the node" actors={actors}>
        <p class="meta">Records that belong to no project: sign-ins, links, administrators, backups.</p>
      </Audit>
    </OwnerOnly>
  )
}

async function administrators(): Promise<Actors> {
  const all: (readonly [string, string])[] = []
  for await (const { id, name } of owner.administrators.all()) all.push([id, plainName(name)])
  return all
}

interface Props {
  readonly title: string
  readonly project?: string
  /** Newest record of the project. */
  readonly latest?: string | undefined
  readonly actors: Actors
  readonly children: ComponentChildren
}

function Audit({ title, project, latest, actors, children }: Props) {
  const { query, path, route } = useLocation()
  const filters = filtersOf(query)
  const name = addressOf(path, filters)
  const list = usePages(name, async (after, signal) => pageOf(await read(project, filters, after, signal)), {
    isFixed: true,
  })
  const records = list.items.value
  const newCount = useNewRecords({
    name,
    newest: records === undefined ? undefined : (records[0]?.id ?? null),
    latest,
    read: (after, signal) => read(project, filters, after, signal, 'oldest_first'),
  })
  // A narrow screen begins with the records.
  const [isOpen] = useState(() => matchMedia('(min-width: 761px)').matches)
  const me = session.value?.user
  const people = me === undefined ? actors : [...actors, [me.id, `you (${plainName(me.name)})`] as const]
  return (
    <>
      <div class="head">
        <Heading title={title}>{title}</Heading>
      </div>
      {children}
      <details open={isOpen}>
        <summary>Filters and export{isFiltered(filters) && ' (filtered)'}</summary>
        <FilterForm filters={filters} actors={people} change={(to) => route(addressOf(path, to))} />
        <ExportButtons key={name} read={(after, signal) => read(project, filters, after, signal)} />
      </details>
      <Refusal error={list.error.value} />
      <section aria-label="Records">
        <p>
          {newCount !== '' && (
            <button type="button" class="quiet pill" onClick={() => void list.refresh()}>
              {newCount} new ↑
            </button>
          )}
        </p>
        {records?.length === 0 && (
          <p>{isFiltered(filters) ? 'Nothing fits. Clear the filters.' : 'No record yet.'}</p>
        )}
        {records !== undefined && records.length > 0 && (
          <>
            <p class="meta">{plural(records.length, 'record')}, newest first</p>
            <ol class="records">
              {records.map((record) => (
                <Record key={record.id} record={record} path={path} />
              ))}
            </ol>
          </>
        )}
        <Older of={list} noun="records" />
      </section>
    </>
  )
}

function read(
  project: string | undefined,
  filters: Filters,
  after: string | undefined,
  signal: AbortSignal,
  order: 'newest_first' | 'oldest_first' = 'newest_first',
): Promise<ReadPage> {
  const options = { ...optionsOf(filters), after, order, limit: limits.pageMax, signal }
  return project === undefined ? owner.audit.node(options) : owner.audit.list(project, options)
}

const pageOf = ({ audit, has_more, next_after }: ReadPage) => ({
  items: audit,
  older: has_more && next_after !== null ? next_after : undefined,
})
