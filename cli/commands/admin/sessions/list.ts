/** `bridge admin sessions list`: lists the caller's own sign-ins. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { gathered } from '../../../owner/names.ts'
import { whole } from '../../../owner/text.ts'

export function listSessionsCommand(context: CliContext, run = listSessions): Command {
  return command('list', 'bridge admin sessions list')
    .description('List your own sign-ins.')
    .action(() => run(context))
}

export const listSessions = (context: CliContext): Promise<void> =>
  asOwner(context, async (owner) => {
    const sessions = await gathered(owner.signIn.all({ signal: context.signal }))
    context.output.table(
      whole('sessions', sessions),
      ['id', 'last used', 'until', 'client', ''],
      sessions.map((each) => [
        each.id,
        each.last_used_at,
        each.expires_at,
        each.user_agent,
        each.current ? 'this one' : '',
      ]),
      'no sessions',
    )
  })
