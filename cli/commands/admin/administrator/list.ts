/** `bridge admin administrator list`. Contract §10. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { gathered } from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'

export function listAdministratorsCommand(context: CliContext, run = listAdministrators): Command {
  const list = command('list', 'bridge admin administrator list').description(
    'List the administrators and their projects.',
  )
  return withNewest(list).action((options: NewestOption) => run(context, options))
}

export const listAdministrators = (context: CliContext, options: NewestOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const administrators = await gathered(
      owner.administrators.all({ ...orderOf(options), signal: context.signal }),
    )
    const projects = new Map<string, string>()
    for await (const { id, name } of owner.projects.all({ signal: context.signal })) projects.set(id, name)
    context.output.table(
      whole('administrators', administrators),
      ['name', 'state', 'password', 'projects', 'id'],
      administrators.map((each) => [
        each.name,
        each.state,
        each.has_password ? 'set' : 'not yet',
        each.project_ids.map((id) => projects.get(id) ?? id).join(', '),
        each.id,
      ]),
      'no administrators yet',
    )
  })
