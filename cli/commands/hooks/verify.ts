/** `bridge hooks verify`: shows that mail reaches a session of the harness. Contract §12. */
import { type Command, command, oneOf } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { type HarnessName, harnessNames } from '../../hooks/harnesses.ts'

export interface HooksVerifyOptions {
  readonly profile?: string
  readonly from?: string
  readonly inPlace?: true
}

export function hooksVerifyCommand(context: CliContext, run = hooksVerify): Command {
  return command('verify', 'bridge hooks verify claude --from ben')
    .description(
      'Check an installation in four stages: its files, each installed command, a message that wakes, and the real harness with a scripted local model. No account is needed. Stops after the first stage with a problem.',
    )
    .argument('<harness>', harnessNames.join(', '), oneOf(harnessNames))
    .option('--from <profile>', 'the profile that sends the test messages (default: the only other one)')
    .option('--in-place', 'start the harness with its own settings, not with an empty folder of settings')
    .action((harness: HarnessName, _options: unknown, typed: Command) =>
      run(context, harness, typed.optsWithGlobals<HooksVerifyOptions>()),
    )
}

export async function hooksVerify(
  context: CliContext,
  harness: HarnessName,
  options: HooksVerifyOptions,
): Promise<void> {
  const { verify } = await import('../../hooks/verify/verify.ts')
  await verify(context, harness, options)
}
