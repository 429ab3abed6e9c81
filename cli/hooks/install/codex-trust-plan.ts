/** Plans of an installation with the entries of trust that codex-trust.ts describes. */
import { dirname, join } from 'node:path'
import { CommandError } from '../../exit-codes.ts'
import { isTrust, listHooks, oursAmong, trustEntries } from './codex-trust.ts'
import type { Entry } from './entries.ts'
import { type InstallPlan, planInstall } from './install.ts'
import type { Layout } from './layout.ts'
import type { Machine } from './places.ts'
import type { Installation } from './record.ts'
import { isChange, type SharedFile } from './shared-file.ts'

/** Plans an installation. Trust that an earlier one wrote stays if the hooks stay as they are. */
export async function planKeepingTrust(
  layout: Layout,
  recorded: Installation | undefined,
  inside: readonly string[],
): Promise<{ plan: InstallPlan; trust: readonly Entry[] }> {
  const trust = (recorded?.shared ?? []).flatMap(({ entries }) => entries.filter(isTrust))
  const plan = await planInstall(withTrust(layout, trust), recorded, inside)
  const hooks = plan.shared.find(({ record }) => record.path === hooksFileOf(layout)?.path)
  if (trust.length === 0 || hooks === undefined || !isChange(hooks)) return { plan, trust }
  return { plan: await planInstall(layout, recorded, inside), trust: [] }
}

/** Plans the entries of trust. The hooks must be installed. @throws CommandError */
export async function planTrust(
  layout: Layout,
  given: {
    readonly codex: string
    readonly machine: Machine
    readonly installed: Installation
    readonly inside: readonly string[]
    readonly trust: readonly Entry[]
  },
): Promise<InstallPlan> {
  const file = hooksFileOf(layout)
  const ours = file === undefined ? [] : await oursAmong(await listHooks(given.codex, given.machine), file)
  if (ours.length !== file?.entries.length)
    throw new CommandError(
      'conflict',
      `Codex lists ${ours.length} of our ${file?.entries.length ?? 0} hooks`,
      {
        hint: 'the hooks are installed; open /hooks in Codex and trust them there',
      },
    )
  const added = trustEntries(ours)
  const keys = new Set(added.map(({ at }) => at.join('\n')))
  const kept = given.trust.filter(({ at }) => !keys.has(at.join('\n')))
  return planInstall(withTrust(layout, [...kept, ...added]), given.installed, given.inside)
}

const hooksFileOf = ({ shared }: Layout): SharedFile | undefined =>
  shared.find(({ path }) => path.endsWith('hooks.json'))

/** The entries go into the `config.toml` beside the hooks. */
function withTrust(layout: Layout, trust: readonly Entry[]): Layout {
  const hooks = hooksFileOf(layout)
  if (trust.length === 0 || hooks === undefined) return layout
  const path = join(dirname(hooks.path), 'config.toml')
  const config: SharedFile = layout.shared.find((file) => file.path === path) ?? {
    path,
    format: 'toml',
    entries: [],
  }
  const others = layout.shared.filter((file) => file.path !== path)
  return { ...layout, shared: [...others, { ...config, entries: [...config.entries, ...trust] }] }
}
