/**
 * `bridge session`: starts and closes a session explicitly. Any other command starts one if there is none.
 */
import { type Command, command, group } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'

export function sessionCommand(context: CliContext): Command {
  return group('session', 'bridge session start')
    .description('The session that all processes of this profile share.')
    .addCommand(sessionStartCommand(context))
    .addCommand(sessionCloseCommand(context))
}

export interface SessionStartOptions {
  readonly takeoverGrantStdin?: true
}

export function sessionStartCommand(context: CliContext, run = sessionStart): Command {
  return command('start', 'bridge session start')
    .description('Start a session, or resume the active one of this profile.')
    .option('--takeover-grant-stdin', 'read the grant of a takeover from standard input')
    .action((options: SessionStartOptions) => run(context, options))
}

export async function sessionStart(context: CliContext, options: SessionStartOptions): Promise<void> {
  const { io, output, signal } = context
  const takeoverGrant = options.takeoverGrantStdin === true ? await readGrant(context) : undefined
  const bridge = await context.bridge()
  const session = await bridge.sessions.start({ takeoverGrant, signal })
  const how = session.resumed ? 'resumed' : 'started'
  output.result(session, `${how} session ${session.id}, generation ${session.generation}`)
  if (session.replaced_session_id !== null) io.err(`it replaced session ${session.replaced_session_id}\n`)
}

async function readGrant({ io }: CliContext): Promise<string> {
  const grant = (await io.readSecret('takeover grant: ')).trim()
  if (grant !== '') return grant
  throw new CommandError('usage', 'no takeover grant was given')
}

export function sessionCloseCommand(context: CliContext, run = sessionClose): Command {
  return command('close', 'bridge session close')
    .description(
      'Close the session. A running listen of this profile ends; the next command starts a new session.',
    )
    .action(() => run(context))
}

export async function sessionClose({ bridge, output, signal }: CliContext): Promise<void> {
  const closed = await (await bridge()).sessions.close({ signal })
  if (closed === undefined) output.note('there was no session to close')
  else output.result(closed, `closed session ${closed.id}`)
}
