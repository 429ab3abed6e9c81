/** `bridge admin administrator state`: enable or disable. Contract §10. */
import type { Administrator } from '../../../../sdk/index.ts'
import { type Command, command, oneOf } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, confirmed, type PasswordOption } from '../../../owner/client.ts'
import { findAdministrator } from '../../../owner/names.ts'

type State = Administrator['state']
const states = ['enabled', 'disabled'] as const satisfies readonly State[]

export function administratorStateCommand(context: CliContext, run = setAdministratorState): Command {
  return command('state', 'bridge admin administrator state kim disabled')
    .description('Enable or disable an administrator. Disabling ends all sign-ins and links immediately.')
    .argument('<administrator>', 'name or id')
    .argument('<state>', states.join(' or '), oneOf(states))
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')
    .action((wanted: string, state: State, options: PasswordOption) => run(context, wanted, state, options))
}

export const setAdministratorState = (
  context: CliContext,
  wanted: string,
  state: State,
  options: PasswordOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const { id, name } = await findAdministrator(owner, wanted, context)
    const set = await confirmed(context, owner, options, () =>
      owner.administrators.setState(id, state, { signal: context.signal }),
    )
    context.output.result(set, `${name} is ${set.state}`)
  })
