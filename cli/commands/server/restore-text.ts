/** The results of a restore as text: what to check, and what to do next. */
import type { RestoreReport } from '../../../server/main.ts'
import { tableText } from '../../terminal/output.ts'
import { ago } from '../../terminal/words.ts'

type Review = Pick<
  RestoreReport,
  'credentials' | 'grants' | 'people' | 'transfers' | 'sessions_fenced' | 'newest_record_at'
>

/** `first` is the line that says what was restored. */
export function reviewText(report: Review, first: string, now: Date): string {
  const { credentials, grants, people, transfers } = report
  const seen = (at: string | null) => (at === null ? 'never' : ago(at, now))
  const parts = [
    first,
    `${report.sessions_fenced} sessions fenced`,
    section(
      'credentials',
      ['project', 'agent', 'credential', 'binding', 'last used', 'now'],
      credentials.map((each) => [
        each.project,
        each.agent,
        each.credential_id,
        each.binding,
        seen(each.last_used_at),
        stateWords[each.state],
      ]),
    ),
    section(
      'no longer valid',
      ['what', 'of', 'project'],
      grants.map(({ kind, of, project }) => [kind.replaceAll('_', ' '), of, project ?? '']),
    ),
    section(
      'people',
      ['name', 'role', 'state', 'projects'],
      people.map(({ name, role, state, projects }) => [
        name,
        role,
        state,
        role === 'owner' ? 'all' : projects.join(', '),
      ]),
    ),
    section(
      'transfers ended, because their bytes are missing',
      ['project', 'transfer', 'file', 'now'],
      transfers.map(({ project, transfer_id, filename, state }) => [project, transfer_id, filename, state]),
    ),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

const stateWords: Readonly<Record<RestoreReport['credentials'][number]['state'], string>> = {
  good: 'good',
  held: 'held: its agent is disabled',
  agent_disabled: 'its agent was disabled',
  revoked_since: 'revoked since, and revoked again',
}

const section = (title: string, header: readonly string[], rows: readonly string[][]): string =>
  rows.length === 0 ? '' : `\n${title}\n${tableText(header, rows)}`

/** `parts` says what the restore did, and what it is called. */
export function reviewNotes(
  report: Review,
  parts: { readonly what: string; readonly known: boolean; readonly envelope_key_made: boolean },
  now: Date,
): string[] {
  const { credentials, grants } = report
  const { what, known, envelope_key_made } = parts
  const isHeld = credentials.some(({ state }) => state === 'held')
  const prompts = grants.some(({ kind }) => kind === 'enrollment')
  return [
    ...(Date.parse(report.newest_record_at) > now.getTime() + 60_000
      ? [
          `this machine's clock is behind ${what}, which ends at ${report.newest_record_at}: set it, because requests signed before that time are refused`,
        ]
      : []),
    ...(envelope_key_made
      ? ['created a new envelope key; secrets sealed with the old key were deleted']
      : []),
    ...(isHeld
      ? [
          `${what} cannot show which credentials were revoked since: check each, then`,
          '  bridge admin credential revoke CREDENTIAL_ID, or bridge admin agent state AGENT enabled',
        ]
      : []),
    ...(known
      ? []
      : [`passwords, people and pairings are those of ${what}; bridge admin password changes a password`]),
    ...(prompts ? ['unused enrolment prompts must be created again: bridge admin enrollment create'] : []),
    'next: bridge server start; bridge server owner-link prints a link to sign in with',
  ]
}
