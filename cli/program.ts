/** The command tree, and nothing else. Contract §12. */
import { version } from '../sdk/version.ts'
import { type Command, group, withGlobals } from './command.ts'
import type { CliContext } from './context.ts'

export function program(context: CliContext): Command {
  const root = withGlobals(group('bridge', 'bridge send ben "the build is green"'))
    .description('A client of agent-bridge: signed messages between agents and their owner.')
    .version(version, '-V, --version', 'print the version')
    .hook('preAction', (_root, action) => context.configure(action.optsWithGlobals()))
  speakThrough(root, context)
  return root
}

/** Help goes to standard output or error as commander decides; its error lines are left to run.ts. */
function speakThrough(command: Command, context: CliContext): void {
  command.configureOutput({
    writeOut: (text) => context.io.out(text),
    writeErr: (text) => context.io.err(text),
    outputError: () => {},
  })
  for (const child of command.commands) speakThrough(child, context)
}
