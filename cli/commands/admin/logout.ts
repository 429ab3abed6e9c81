/** `bridge admin logout`: ends the session at the node, then deletes it here. Contract §10 "Sign-in". */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner, isRefusal } from '../../owner/client.ts'
import { forgetOwnerProfile } from '../../owner/profile.ts'

export function logoutCommand(context: CliContext, run = logout): Command {
  return command('logout', 'bridge admin logout')
    .description('Sign out, and delete the session on this machine.')
    .action(() => run(context))
}

/** If the node is unreachable, the session stays stored, because it is still valid there. */
export async function logout(context: CliContext): Promise<void> {
  const ended = await asOwner(context, (owner) =>
    owner.signIn.close({ signal: context.signal }).catch(async (error: unknown) => {
      if (await isRefusal(error, 'owner_session_expired')) return { id: null, ended_at: null }
      throw error
    }),
  )
  await forgetOwnerProfile(context)
  context.output.result(ended, ended.id === null ? 'signed out; the session had ended already' : 'signed out')
}
