/** `bridge completion`: what a shell needs to complete the words of the command line. Contract §12. */
import { type Command, command, oneOf } from '../command.ts'
import type { CliContext } from '../context.ts'
import { completionScripts, wordsByPath } from '../terminal/completion-scripts.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** `whole` makes the tree that is completed: the one at hand holds what was typed. */
export function completionCommand(context: CliContext, whole: () => Promise<Command>): Command {
  return command('completion', 'bridge completion bash')
    .description(
      'Print a script by which a shell completes commands and options; bash and zsh: source <(bridge completion bash).',
    )
    .argument('<shell>', shells.join(', '), oneOf(shells))
    .action(async (shell: Shell) => {
      const script = completionScripts[shell](wordsByPath(await whole()))
      context.output.result({ shell, script }, script)
    })
}
