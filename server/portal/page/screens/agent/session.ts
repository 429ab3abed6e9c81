/** The newest session of an agent, as the audit records it. */
import type { AuditRecord } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { useOne } from '../../parts/whole.ts'
import type { About } from './about.ts'

export interface SessionFacts {
  readonly generation: number
  readonly client: string
  readonly since: string
  /** Time at which it was closed or fenced. */
  readonly until: string | undefined
}

/** Returns undefined until the audit is read, and null if no session was recorded. */
export function useSession({ project, agent: { id }, live }: About): SessionFacts | null | undefined {
  const read = useOne(`session ${id}`, (options) => newest(project, id, options), {
    live,
    kinds: ['session.'],
  })
  return read.items.value?.[0]?.value
}

async function newest(
  project: string,
  actorId: string,
  options: { readonly signal: AbortSignal },
): Promise<SessionFacts | null> {
  const latest = { order: 'newest_first', ...options } as const
  const { audit } = await owner.audit.list(project, { actorId, kind: 'session.started', limit: 1, ...latest })
  const [started] = audit
  if (started?.subject.id == null) return null
  const of = await owner.audit.list(project, { subjectId: started.subject.id, limit: 10, ...latest })
  const end = of.audit.find(({ kind }) => kind === 'session.closed' || kind === 'session.fenced')
  return {
    generation: generationOf(started),
    client: clientOf(started),
    since: started.at,
    until: end?.at,
  }
}

/** The generation of the session that a record tells of. */
export const generationOf = ({ details: { generation } }: AuditRecord): number =>
  typeof generation === 'number' ? generation : 0

function clientOf({ details: { client } }: AuditRecord): string {
  if (typeof client !== 'object' || client === null) return 'an unnamed client'
  const { name, version } = client as { name?: unknown; version?: unknown }
  return `${name} ${version}`
}
