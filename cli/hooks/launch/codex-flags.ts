/**
 * Flags of Codex for one run: hooks, MCP server, and trust in exactly these hooks.
 *
 * Codex skips an untrusted hook without a word. It computes the hash of a hook itself, so it is asked for the
 * hashes of ours. The user's own hooks keep the trust that they have.
 */
import { CommandError } from '../../exit-codes.ts'
import { codexLayout } from '../install/codex.ts'
import { listHooks } from '../install/codex-trust.ts'
import type { Entry, Json } from '../install/entries.ts'
import type { Machine } from '../install/places.ts'
import { choiceOf, type LaunchFacts } from './plan.ts'

export async function codexFlags(facts: LaunchFacts): Promise<readonly string[]> {
  const { shared } = codexLayout(facts.machine, choiceOf(facts))
  const entries = shared.flatMap((file) => file.entries)
  return trustedFlags(facts.harness, facts.machine, entries)
}

/** Returns flags for these entries. @throws CommandError if Codex does not list the hooks among them */
export async function trustedFlags(
  codex: string,
  machine: Machine,
  entries: readonly Entry[],
): Promise<readonly string[]> {
  const flags = settingsOf(entries).flatMap(flag)
  const commands = new Set(entries.flatMap(({ value }) => hookCommands(value)))
  const listed = await listHooks(codex, machine, flags)
  const ours = listed.filter(({ command, key }) => commands.has(command) && key.startsWith(sessionFlags))
  if (ours.length !== commands.size)
    throw new CommandError('unexpected', 'Codex does not list the hooks of this run', {
      hint: 'bridge hooks install codex, then start codex',
    })
  const state = Object.fromEntries(
    ours.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }] as const),
  )
  return [...flags, ...flag({ at: ['hooks', 'state'], value: state })]
}

/** Codex names the source of hooks in flags by this path. */
const sessionFlags = '/<session-flags>/'

interface Setting {
  readonly at: readonly string[]
  readonly value: Json
}

/** Collects entries that are appended to the same array, because a second flag replaces the first. */
function settingsOf(entries: readonly Entry[]): Setting[] {
  const arrays = new Map<string, Json[]>()
  const settings: Setting[] = []
  for (const { at, value, appended } of entries) {
    const known = arrays.get(at.join('.'))
    if (appended !== true) settings.push({ at, value })
    else if (known !== undefined) known.push(value)
    else {
      const values = [value]
      arrays.set(at.join('.'), values)
      settings.push({ at, value: values })
    }
  }
  return settings
}

const flag = ({ at, value }: Setting): string[] => ['-c', `${at.join('.')}=${toml(value)}`]

/** Writes a value as inline TOML. Strings of JSON are strings of TOML. */
function toml(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const pairs = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}=${toml(inner)}`)
  return `{${pairs.join(',')}}`
}

function hookCommands(value: Json): string[] {
  const { hooks } = (value ?? {}) as { readonly hooks?: readonly { readonly command: string }[] }
  return (hooks ?? []).map(({ command }) => command)
}
