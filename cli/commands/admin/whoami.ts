/** `bridge admin whoami`: shows the stored sign-in. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner } from '../../owner/client.ts'
import { sessionText } from '../../owner/sign-in.ts'

export function whoamiCommand(context: CliContext, run = whoami): Command {
  return command('whoami', 'bridge admin whoami')
    .description('Show who is signed in, at which node, and until when.')
    .action(() => run(context))
}

export const whoami = (context: CliContext): Promise<void> =>
  asOwner(context, async (owner) => {
    const session = await owner.signIn.current({ signal: context.signal })
    context.output.result(session, `${sessionText(session)} at ${owner.keep()?.base_url}`)
  })
