/** `bridge server` in the client package that a node hands out, which cannot run a node. Contract §11. */
import { type Command, command } from '../../command.ts'
import { CommandError } from '../../exit-codes.ts'

export function serverCommand(): Command {
  return command('server', 'bridge server')
    .description('Run a node: not in this package, which is the client only.')
    .argument('[words...]', 'any command of the whole program')
    .allowUnknownOption()
    .action(() => {
      throw new CommandError('usage', 'this is the client only, which cannot run a node', {
        hint: 'a clone of agent-bridge, or its package file, has the commands of the group server',
      })
    })
}
