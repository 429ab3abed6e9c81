/** `bridge admin password`: changes the caller's password and ends all sessions. Contract §10 "Sign-in". */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { asOwner, confirm, isRefusal, type PasswordOption } from '../../owner/client.ts'
import { forgetOwnerProfile } from '../../owner/profile.ts'
import { openSecrets } from '../../terminal/secrets.ts'

export function passwordCommand(context: CliContext, run = changePassword): Command {
  return command('password', 'bridge admin password')
    .description('Change your password. All your sessions end.')
    .option(
      '--password-stdin',
      'read from standard input: the new password, then the current one (needed from ten minutes after the sign-in), one per line',
    )
    .action((options: PasswordOption) => run(context, options))
}

export async function changePassword(context: CliContext, options: PasswordOption): Promise<void> {
  const { io, signal, output } = context
  const secrets = openSecrets(io, options.passwordStdin === true)
  const ended = await asOwner(context, async (owner) => {
    const chosen = await secrets.nextChosen('new password')
    const change = () => owner.signIn.changePassword(chosen, { signal })
    return change().catch(async (error: unknown) => {
      if (!(await isRefusal(error, 'reauth_required')) || !(await secrets.hasMore())) throw error
      await confirm(context, owner, await secrets.next('current password'))
      return change()
    })
  })
  await forgetOwnerProfile(context)
  output.result(ended, 'password changed; every session has ended, sign in again')
}
