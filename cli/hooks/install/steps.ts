/** Prints what `hooks install` and `hooks uninstall` did, or would do. */
import type { CliContext } from '../../context.ts'
import type { HarnessName } from '../harnesses.ts'
import type { Step } from './install.ts'

export interface Printed {
  readonly harness: HarnessName
  readonly action: 'install' | 'uninstall'
  readonly dryRun: boolean
  readonly steps: readonly Step[]
  readonly profile: string | null
  readonly folders: Readonly<Record<string, string>>
  readonly notes: readonly string[]
  readonly byHand: readonly string[]
}

const words: Readonly<Record<Step['change'], readonly [string, string]>> = {
  create: ['created', 'would create'],
  update: ['updated', 'would update'],
  same: ['unchanged', 'unchanged'],
  remove: ['removed', 'would remove'],
  restore: ['restored', 'would restore'],
  gone: ['already gone', 'already gone'],
  keep: ['kept, because it was changed', 'would keep, because it was changed'],
}

export function printSteps({ output }: CliContext, printed: Printed): void {
  const { harness, action, dryRun, steps, profile, folders, notes, byHand } = printed
  const wire = { harness, action, dry_run: dryRun, profile, folders, changes: steps, notes, by_hand: byHand }
  const lines = steps.map(({ path, change }) => `${words[change][dryRun ? 1 : 0]}: ${path}`)
  output.result(wire, lines.length === 0 ? 'nothing to do' : lines.join('\n'))
  if (output.json) return
  for (const note of notes) output.next(note)
  for (const step of dryRun ? [] : byHand) output.next(`by hand: ${step}`)
}
