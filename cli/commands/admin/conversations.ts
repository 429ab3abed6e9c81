/** `bridge admin conversations`: lists all conversations of a project. Contract §7. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner } from '../../owner/client.ts'
import { findProject, gathered, type ProjectOption, withProject } from '../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../owner/order.ts'
import { whole } from '../../owner/text.ts'

export function conversationsCommand(context: CliContext, run = conversations): Command {
  const conversations = command('conversations', 'bridge admin conversations').description(
    'List the conversations of a project, including those between agents.',
  )
  return withProject(withNewest(conversations)).action((options: ProjectOption & NewestOption) =>
    run(context, options),
  )
}

export const conversations = (context: CliContext, options: ProjectOption & NewestOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const all = await gathered(
      owner.conversations.all(project.id, { ...orderOf(options), signal: context.signal }),
    )
    context.output.table(
      whole('conversations', all),
      ['id', 'kind', 'between', 'messages'],
      all.map(({ id, kind, participants, last_sequence }) => [
        id,
        kind,
        participants.map(({ name }) => name).join(', '),
        String(last_sequence),
      ]),
      'no conversations yet',
    )
  })
