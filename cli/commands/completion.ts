/** `bridge completion`: prints a script that lets a shell complete our commands and options. Contract §12. */
import { type Command, command, oneOf } from '../command.ts'
import type { CliContext } from '../context.ts'
import { completionScripts, wordsByPath } from '../terminal/completion-scripts.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** `whole` builds the whole tree. The current tree has only the typed command. */
export function completionCommand(context: CliContext, whole: () => Promise<Command>): Command {
  return command('completion', 'bridge completion bash')
    .description(
      'Print a script that lets a shell complete commands and options. For bash: eval "$(bridge completion bash)", for zsh alike.',
    )
    .argument('<shell>', shells.join(', '), oneOf(shells))
    .action(async (shell: Shell) => {
      const script = completionScripts[shell](wordsByPath(await whole()))
      context.output.result({ shell, script }, script)
    })
}
