/** `bridge admin status`: shows the state of a project once. Spec §1; contract §10 "Snapshot". */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner } from '../../owner/client.ts'
import { findProject, type ProjectOption, withProject } from '../../owner/names.ts'
import { loadWording, snapshotText } from '../../owner/snapshot-text.ts'

export function statusCommand(context: CliContext, run = status): Command {
  const status = command('status', 'bridge admin status').description(
    'Show the state of a project: what needs your attention, its agents, and their waiting messages.',
  )
  return withProject(status).action((options: ProjectOption) => run(context, options))
}

export const status = (context: CliContext, options: ProjectOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const { id } = await findProject(owner, options.project, context)
    const snapshot = await owner.projects.snapshot(id, { signal: context.signal })
    context.output.result(snapshot, snapshotText(snapshot, await loadWording(), context.clock()))
  })
