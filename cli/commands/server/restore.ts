/**
 * `bridge server restore`: makes a backup the installation of a data folder. Sessions, links and signed
 * requests from before the restore are no longer accepted. Contract §12.
 */
import type { RestoreReport } from '../../../server/main.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { tableText } from '../../terminal/output.ts'
import { ago } from '../../terminal/words.ts'
import { configOf, onHost, onPostgres, type SettingOptions, withData } from './settings.ts'

interface RestoreOptions {
  readonly replace?: boolean
  readonly acceptCredentials?: boolean
}

export function restoreCommand(context: CliContext, run = restore): Command {
  const restore = command('restore', 'bridge server restore bridge-20261121T080501Z.db')
    .description(
      'Make a backup the installation of the data folder, while the server is stopped. Earlier sessions, sign-ins, links, grants and signed requests are refused afterwards. Prints a list of what to check.',
    )
    .argument('<file>', 'a file that bridge server backup wrote')
    .option('--replace', 'replace an existing installation; its database is kept under another name')
    .option(
      '--accept-credentials',
      'confirm that no credential was revoked since the backup; agents then stay enabled without a check',
    )
  return withData(restore).action((file: string, options: RestoreOptions) => run(context, file, options))
}

export const restore = (
  context: CliContext,
  file: string,
  options: RestoreOptions & Pick<SettingOptions, 'data'>,
): Promise<void> =>
  onHost(async (server) => {
    const { clock, random, output } = context
    const { replace = false, acceptCredentials = false, data } = options
    const config = configOf(server, context, data === undefined ? {} : { data })
    if (config.databaseUrl !== undefined) throw onPostgres('is restored')
    const report = await server.restoreBackup({ config, file, replace, acceptCredentials, clock, random })
    output.result(report, reportText(report, clock()))
    for (const note of notes(report, clock())) output.next(note)
  })

function reportText(report: RestoreReport, now: Date): string {
  const { credentials, grants, people, transfers } = report
  const seen = (at: string | null) => (at === null ? 'never' : ago(at, now))
  const parts = [
    `restored ${report.data}; its newest record is from ${ago(report.newest_record_at, now)}`,
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

function notes(report: RestoreReport, now: Date): string[] {
  const { credentials, grants, kept, known, envelope_key_made } = report
  const isHeld = credentials.some(({ state }) => state === 'held')
  const prompts = grants.some(({ kind }) => kind === 'enrollment')
  return [
    ...(kept === null ? [] : [`the previous database is kept in ${kept}`]),
    ...(Date.parse(report.newest_record_at) > now.getTime() + 60_000
      ? [
          `this machine's clock is behind the backup, which ends at ${report.newest_record_at}: set it, because requests signed before that time are refused`,
        ]
      : []),
    ...(envelope_key_made
      ? ['created a new envelope key; secrets sealed with the old key were deleted']
      : []),
    ...(isHeld
      ? [
          'the backup cannot show which credentials were revoked since: check each, then',
          '  bridge admin credential revoke CREDENTIAL_ID, or bridge admin agent state AGENT enabled',
        ]
      : []),
    ...(known
      ? []
      : ['passwords, people and pairings are those of the backup; bridge admin password changes a password']),
    ...(prompts ? ['unused enrolment prompts must be created again: bridge admin enrollment create'] : []),
    'next: bridge server start; bridge server owner-link prints a link to sign in with',
  ]
}
