/** The work of `bridge hooks status`. */
import type { CliContext } from '../../context.ts'
import { type HarnessName, harnesses, harnessNames } from '../harnesses.ts'
import { listHooks, oursAmong } from './codex-trust.ts'
import { machineOf } from './machine.ts'
import type { Machine } from './places.ts'
import { type Installation, readRecord } from './record.ts'
import { activityOf, faultsOf, type ProfileActivity, profilesOf } from './status.ts'
import { type FoundProgram, findProgram } from './versions.ts'

interface HarnessStatus {
  readonly harness: HarnessName
  /** The program in PATH; null if there is none. */
  readonly program: { readonly path: string; readonly version: string | null } | null
  readonly installed: boolean
  readonly faults: readonly string[]
  /** Whether Codex trusts all of our hooks; null if the harness asks no trust, or does not tell. */
  readonly trusted: boolean | null
  readonly profile: string | null
  readonly folders: Readonly<Record<string, string>>
  readonly profiles: readonly ProfileActivity[]
}

export async function runStatus(context: CliContext): Promise<void> {
  const machine = machineOf(context)
  const found = await Promise.all(harnessNames.map((harness) => statusOf(context, harness, machine)))
  context.output.result({ harnesses: found }, found.map(linesOf).join('\n'))
}

async function statusOf(
  { home }: CliContext,
  harness: HarnessName,
  machine: Machine,
): Promise<HarnessStatus> {
  const [program, installed] = await Promise.all([findProgram(harness, machine), readRecord(home, harness)])
  const shown = program === undefined ? null : { path: program.path, version: program.version ?? null }
  if (installed === undefined) {
    const nothing = { installed: false, faults: [], trusted: null, profile: null, folders: {}, profiles: [] }
    return { harness, program: shown, ...nothing }
  }
  const trusted = harness === 'codex' ? await isTrusted(installed, program, machine) : null
  const { profile, folders } = installed
  const profiles = profilesOf(installed).map((name) => activityOf(home, harness, name))
  const faults = await faultsOf(installed)
  return { harness, program: shown, installed: true, faults, trusted, profile, folders, profiles }
}

async function isTrusted(
  { shared }: Installation,
  program: FoundProgram | undefined,
  machine: Machine,
): Promise<boolean | null> {
  const hooks = shared.find(({ format }) => format === 'json')
  if (hooks === undefined || program === undefined) return null
  const listed = await listHooks(program.path, machine).catch(() => undefined)
  if (listed === undefined) return null
  const ours = await oursAmong(listed, hooks)
  return (
    ours.length === hooks.entries.length &&
    ours.every((hook) => hook.trustStatus === 'trusted' && hook.enabled)
  )
}

function linesOf(status: HarnessStatus): string {
  const { harness, program, installed, faults, trusted, folders, profile, profiles } = status
  const version = program === null ? 'not found in PATH' : (program.version ?? 'version unknown')
  const head = `${harnesses[harness].title}: ${version}, hooks ${installed ? 'installed' : 'not installed'}`
  const trust = trusted === null ? [] : [trusted ? 'trusted by Codex' : 'not trusted by Codex: open /hooks']
  const bound = Object.entries(folders).map(([folder, name]) => `profile ${name} in ${folder}`)
  const details = [
    ...faults,
    ...trust,
    ...(profile === null ? [] : [`profile ${profile}`]),
    ...bound,
    ...profiles.flatMap((activity) => activityLines(activity, profiles.length > 1)),
  ]
  return [head, ...details.map((line) => `  ${line}`)].join('\n')
}

const shortTime = (at: string): string => at.replace(/\.\d+Z$/, 'Z')

function activityLines(
  { profile, events, waiter, last_notice: notice }: ProfileActivity,
  isOneOfSeveral: boolean,
): string[] {
  const whose = isOneOfSeveral ? `${profile}: ` : ''
  const ran = Object.entries(events).flatMap(([event, at]) =>
    at === null ? [] : [`${event} ${shortTime(at)}`],
  )
  const outcome =
    notice?.read === true ? 'and the inbox was read after it' : 'and the inbox was not read since'
  return [
    `${whose}${ran.length === 0 ? 'no hook ran yet' : `last runs: ${ran.join(', ')}`}`,
    waiter === null ? `${whose}no waiter` : `${whose}waiter ${waiter.pid} since ${shortTime(waiter.since)}`,
    notice === null
      ? `${whose}no notice yet`
      : `${whose}last notice ${shortTime(notice.at)} at ${notice.event}, ${outcome}`,
  ]
}
