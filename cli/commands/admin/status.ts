/** `bridge admin status`: shows the state of one project or of all once. Spec §1; contract §10 "Snapshot". */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner } from '../../owner/client.ts'
import { findProject, type ProjectOption } from '../../owner/names.ts'
import { currentProjects, type Overview, overview, overviewText } from '../../owner/overview.ts'
import { showPage } from '../../owner/page.ts'
import { loadWording, snapshotText } from '../../owner/snapshot-text.ts'

export function statusCommand(context: CliContext, run = status): Command {
  return command('status', 'bridge admin status')
    .description(
      'Show the state of your projects: what needs your attention, their agents, and waiting messages. With several projects, also the questions to you.',
    )
    .option('--project <project>', 'name or id of a project; all your projects if absent')
    .action((options: ProjectOption) => run(context, options))
}

export const status = (context: CliContext, { project }: ProjectOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const { output, signal } = context
    const all = project === undefined ? await currentProjects(owner, context) : []
    if (all.length > 1) return showAll(context, await overview(owner, all, context))
    const { id } = all[0] ?? (await findProject(owner, project, context))
    const snapshot = await owner.projects.snapshot(id, { signal })
    output.result(snapshot, snapshotText(snapshot, await loadWording(), context.clock()))
    await showPage(context, `/projects/${id}`)
  })

async function showAll(context: CliContext, all: Overview): Promise<void> {
  const { output, clock } = context
  output.result(all, overviewText(all, await loadWording(), clock()))
  if (all.has_more_projects)
    output.next(
      `only ${all.projects.length} projects are shown; bridge admin project list lists all, and --project shows one`,
    )
  await showPage(context, '/')
}
