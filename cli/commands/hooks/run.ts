/**
 * `bridge hooks run`: the program that an installed hook of a harness runs.
 *
 * Contract §12.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'

/** Accepts any arguments: a usage error would exit with 2, and exit 2 of a hook means mail. */
export function hooksRunCommand(context: CliContext, run = hooksRun): Command {
  return command('run', 'bridge hooks run claude Stop')
    .description(
      'Run by an installed hook, not by people: reads the event on standard input and tells the session of new mail. Every failure is exit 0 without output and one line in hooks.jsonl; bridge doctor reports it.',
    )
    .argument('[harness]', 'claude, codex, gemini, opencode or copilot')
    .argument('[event]', 'the name of the event, or wait for the process that wakes an idle session')
    .allowUnknownOption()
    .allowExcessArguments()
    .action((harness?: string, event?: string) => run(context, harness, event))
}

export async function hooksRun(_context: CliContext, _harness = '', _event = ''): Promise<void> {}
