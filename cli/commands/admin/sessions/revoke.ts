/** `bridge admin sessions revoke`: ends one of the caller's own sign-ins. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'

export function revokeSessionCommand(context: CliContext, run = revokeSession): Command {
  return command(
    'revoke',
    "bridge admin sessions revoke $(bridge admin sessions | awk 'NR == 2 { print $1 }')",
  )
    .description('End one of your own sign-ins.')
    .argument('<session_id>', 'as bridge admin sessions shows it', id)
    .action((sessionId: string) => run(context, sessionId))
}

export const revokeSession = (context: CliContext, sessionId: string): Promise<void> =>
  asOwner(context, async (owner) => {
    const ended = await owner.signIn.revoke(sessionId, { signal: context.signal })
    context.output.result(ended, `ended ${ended.id}`)
  })
