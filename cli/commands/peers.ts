/** `bridge peers`. */
import { type Command, command } from '../command.ts'
import type { CliContext } from '../context.ts'
import { connectionWords } from '../terminal/words.ts'

export function peersCommand(context: CliContext, run = peers): Command {
  return command('peers', 'bridge peers')
    .description('List the agents that this one may talk to, and the connection state of each.')
    .action(() => run(context))
}

export async function peers({ bridge, output, signal }: CliContext): Promise<void> {
  const node = await bridge()
  const all = await node.directory.peers({ signal })
  const now = await node.now()
  const rows = all.map((peer) => [
    peer.name,
    peer.role_name,
    connectionWords(peer.connection, now),
    peer.id,
    peer.description.split('\n', 1)[0] ?? '',
  ])
  const header = ['NAME', 'ROLE', 'CONNECTION', 'ID', 'DESCRIPTION']
  output.table(
    { peers: all },
    header,
    rows,
    'no peers yet; the owner can always be reached: bridge send owner',
  )
}
