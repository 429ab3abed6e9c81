/**
 * `bridge hooks run`: the program that an installed hook of a harness runs.
 *
 * Contract §12.
 */
import { type Command, command, type GlobalOptions } from '../../command.ts'
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
    .action((harness = '', event = '', _options: object, typed: Command) =>
      run(context, { harness, event, profile: typed.optsWithGlobals<GlobalOptions>().profile }),
    )
}

export interface HookCall {
  readonly harness: string
  readonly event: string
  readonly profile: string | undefined
}

/** Only for orders such as `bridge --profile ada hooks run …`: usually launch.ts runs the hook. */
export async function hooksRun(_context: CliContext, { harness, event, profile }: HookCall): Promise<void> {
  const { hookMain } = await import('../../hooks/main.ts')
  await hookMain([harness, event, ...(profile === undefined ? [] : ['--profile', profile])])
}
