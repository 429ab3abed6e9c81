/** `bridge admin transfer list`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner-client.ts'
import { agentNames, findProject, gathered, type ProjectOption, withProject } from '../../../owner-names.ts'
import { whole } from '../../../owner-text.ts'

export function listTransfersCommand(context: CliContext, run = listTransfers): Command {
  const list = command('list', 'bridge admin transfer list').description('List the transfers of a project.')
  return withProject(list).action((options: ProjectOption) => run(context, options))
}

export const listTransfers = (context: CliContext, options: ProjectOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const transfers = await gathered(owner.transfers.all(project.id, { signal: context.signal }))
    const nameOf = await agentNames(owner, project, context)
    context.output.table(
      whole('transfers', transfers),
      ['id', 'from', 'to', 'file', 'size', 'state'],
      transfers.map((each) => [
        each.id,
        nameOf(each.sender_agent_id),
        nameOf(each.recipient_agent_id),
        each.filename,
        String(each.size),
        each.state,
      ]),
      'no transfers',
    )
  })
