/**
 * The commands that run a node, in the client package that a node hands out: each ends with the reason why it is not
 * there. `esbuild.client.ts` puts this file in the place of `server.ts` and `up.ts`. Contract §11.
 */
import { type Command, command } from '../../command.ts'
import { CommandError } from '../../exit-codes.ts'

const absent = (name: string): Command =>
  command(name, `bridge ${name}`)
    .description('Run a node: not in this package, which is the client only.')
    .argument('[words...]', 'any words that the whole program takes')
    .allowUnknownOption()
    .action(() => {
      throw new CommandError('usage', 'this is the client only, which cannot run a node', {
        hint: 'a clone of agent-bridge, or its package file, has the whole program',
      })
    })

export const serverCommand = (): Command => absent('server')
export const upCommand = (): Command => absent('up')
/** Takes the place of a function of `up.ts`. There are no options to add. */
export const addNodeOptions = async (): Promise<void> => {}
