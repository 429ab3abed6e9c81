/**
 * `bridge admin audit`: prints audit records, oldest first. `--follow` prints new ones as they occur. `--export`
 * writes a file.
 * Contract §10.
 */
import { similarWords } from '../../../sdk/contract/spelling.ts'
import type { AuditKind, AuditList, AuditRecord, EventOptions, Owner, Project } from '../../../sdk/index.ts'
import { oneLine } from '../../../sdk/plain-text.ts'
import type { AuditFormat } from '../../../sdk/program.ts'
import { type Command, command, invalid, Option, oneOf, wholeNumber } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { failureWords } from '../../failures/failure-words.ts'
import { id } from '../../ids/parse.ts'
import { writeAuditFile } from '../../owner/audit-file.ts'
import { asOwner } from '../../owner/client.ts'
import { findActor, findProject, type ProjectOption, withProject } from '../../owner/names.ts'
import { showPage } from '../../owner/page.ts'

export interface AuditCommandOptions extends ProjectOption {
  readonly kind?: string
  readonly actor?: string
  readonly subject?: string
  readonly since?: When
  readonly until?: When
  readonly limit: number
  readonly before?: string
  readonly after?: string
  readonly node?: true
  readonly follow?: true
  readonly export?: AuditFormat
}

/** A time, or a duration before now. */
type When = (now: Date) => string

export function auditCommand(context: CliContext, run = audit): Command {
  const audit = command('audit', 'bridge admin audit --kind session.started --since 2d')
    .description('Show the audit, by default its latest records. With --follow, keep printing new ones.')
    .option('--kind <kind>', 'only this kind: bridge help audit-kinds lists them')
    .option('--actor <actor>', 'only by this agent or person: name or id')
    .option('--subject <object_id>', 'only about the object with this id', id)
    .option('--since <when>', 'from this time on: 2026-11-21T04:00:00Z, or 2h for two hours ago', when)
    .option('--until <when>', 'before this time', when)
    .option('--limit <count>', 'how many at most', wholeNumber(1, 100), 50)
    .option('--before <record_id>', 'the page before this record', id)
    .addOption(
      new Option('--after <record_id>', 'the page after this record').argParser(id).conflicts('before'),
    )
    .addOption(
      new Option('--node', 'records that belong to no project: sign-ins, links').conflicts([
        'project',
        'follow',
      ]),
    )
    .addOption(
      new Option('--follow', 'keep printing new records until interrupted').conflicts([
        'since',
        'until',
        'before',
      ]),
    )
    .addOption(
      new Option(
        '--export <format>',
        'write all, newest first, at most 100,000: jsonl, or csv for a spreadsheet',
      )
        .argParser(oneOf(['jsonl', 'csv']))
        .conflicts(['follow', 'limit']),
    )
  return withProject(audit).action((options: AuditCommandOptions) => run(context, options))
}

export async function audit(context: CliContext, options: AuditCommandOptions): Promise<void> {
  const kind = options.kind === undefined ? undefined : await kindOf(options.kind)
  return asOwner(context, async (owner) => {
    const project = options.node ? undefined : await findProject(owner, options.project, context)
    const filters = await { ...(await filtersOf(owner, project, options, context)), kind }
    if (project !== undefined && options.follow) return follow(context, owner, project, filters)
    const { since, until, before, after } = options
    const now = context.clock()
    const place =
      after === undefined
        ? { order: 'newest_first' as const, after: before }
        : { order: 'oldest_first' as const, after }
    const asked = { ...filters, since: since?.(now), until: until?.(now), ...place, signal: context.signal }
    const read = (more: Partial<typeof asked>) =>
      project === undefined
        ? owner.audit.node({ ...asked, ...more })
        : owner.audit.list(project.id, { ...asked, ...more })
    if (options.export !== undefined)
      return writeAuditFile(context, {
        format: options.export,
        goOn: after === undefined ? '--before' : '--after',
        read: (last) => read({ limit: 100, ...(last !== undefined && { after: last }) }),
      })
    const page = await read({})
    context.output.result(page, pageText(page, after !== undefined))
    await showPage(context, pathOf(project, filters))
  })
}

/** The audit on the owner's page, with the same filters but without the times and the page. */
function pathOf(project: Project | undefined, { kind, actorId, subjectId }: EventOptions): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries({ kind, actor: actorId, subject: subjectId }))
    if (value !== undefined) search.set(name, value)
  const path = project === undefined ? '/audit' : `/projects/${project.id}/audit`
  return search.size === 0 ? path : `${path}?${search}`
}

async function filtersOf(
  owner: Owner,
  project: Project | undefined,
  { actor, subject: subjectId, limit, after }: AuditCommandOptions,
  context: CliContext,
): Promise<EventOptions> {
  const { ids, signal } = context
  const actorId = actor === undefined ? undefined : await findActor(owner, actor, { project, ids, signal })
  return { actorId, subjectId, limit, after }
}

async function follow(context: CliContext, owner: Owner, project: Project, filters: EventOptions) {
  const { output, signal } = context
  const onConnection = (away: Error | undefined) =>
    output.note(
      away === undefined
        ? 'the node is reachable again'
        : `the node is unreachable, waiting: ${failureWords(away)}`,
    )
  for await (const record of owner.audit.follow(project.id, { ...filters, signal, onConnection }))
    output.item(record, recordText(record))
}

/** Formats the records, oldest first, in whichever direction the page was read. */
function pageText({ audit, has_more, next_after }: AuditList, forward: boolean): string {
  const records = (forward ? audit : audit.toReversed()).map(recordText)
  const more = `(more: ${forward ? '--after' : '--before'} ${next_after})`
  const lines = forward ? [...records, more] : [more, ...records]
  return (has_more ? lines : records).join('\n') || '(no records)'
}

export function recordText({ at, kind, actor, subject, details }: AuditRecord): string {
  const of = subject.id === null ? subject.type : `${subject.type} ${subject.id}`
  const more = Object.entries(details).map(([name, value]) => `${name}=${valueText(value)}`)
  return oneLine([at, kind, `by ${actor.name}`, of, ...more].join('  '))
}

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

async function kindOf(typed: string): Promise<AuditKind> {
  const { auditKinds } = await import('../../../sdk/program.ts')
  const kinds = Object.keys(auditKinds) as AuditKind[]
  const kind = kinds.find((each) => each === typed)
  if (kind !== undefined) return kind
  const near = similarWords(typed, kinds)
  const hint =
    near.length === 0 ? 'bridge help audit-kinds lists the kinds' : `did you mean ${near.join(', ')}?`
  throw new CommandError('usage', 'the value of --kind is not a kind of audit record', { hint })
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

function when(text: string): When {
  const ago = /^(\d{1,6})([smhd])$/.exec(text)
  if (ago !== null) {
    const ms = Number(ago[1]) * unitMs[ago[2] as keyof typeof unitMs]
    return (now) => new Date(now.getTime() - ms).toISOString()
  }
  const moment = /^\d{4}-\d{2}-\d{2}/.test(text) ? new Date(text) : undefined
  if (moment === undefined || Number.isNaN(moment.getTime()))
    throw invalid('It must be a time like 2026-11-21T04:00:00Z, or how long ago, like 90s, 15m, 2h or 1d.')
  return () => moment.toISOString()
}
