/**
 * `bridge helper`: the local program that hands one file over directly.
 *
 * Usually it never gets here: `starts-helper.ts` hands its words to the helper before the command tree is loaded. The
 * tree knows it for the help, and for words such as `bridge --json helper`.
 *
 * Spec §4.5; contract §12.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { manifestCommand } from './manifest.ts'

export interface HelperFlags {
  readonly manifest?: string
  readonly root?: string
  readonly port?: string
  readonly ttl?: string
  readonly maxBytes?: string
  readonly endWithInput?: true
}

export function helperCommand(context: CliContext, run = helper): Command {
  return command('helper', 'bridge helper --manifest report.pdf.manifest.json --root . --port 0')
    .description(
      'Serve one file to, or receive it from, whoever holds the token in SERVICE_TRANSFER_TOKEN; on 127.0.0.1, until the lifetime is over. Prints one line of JSON when it is ready; a start that fails prints a fixed code.',
    )
    .option('--manifest <file>', 'the manifest of the transfer; required')
    .option('--root <folder>', 'where the file is or will be; required')
    .option('--port <number>', 'port to listen on; 0, the default, takes a free one')
    .option('--ttl <seconds>', 'lifetime, 1 to 1800; 1800 when absent')
    .option('--max-bytes <number>', 'longest file to take; 1 GiB when absent, at most 10 GiB')
    .option('--end-with-input', 'end when standard input ends: for a program that runs the helper')
    .action((options: HelperFlags) => run(context, options))
    .addCommand(manifestCommand(context))
}

/** The same endings as the program that the launcher starts: a fixed code, and nothing else. */
export async function helper({ io, environment, signal }: CliContext, options: HelperFlags): Promise<void> {
  const { manifest, root, port, ttl, maxBytes, endWithInput } = options
  const given = Object.entries({ manifest, root, port, ttl, 'max-bytes': maxBytes })
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]))
  if (endWithInput) words.push('--end-with-input')
  const { readOptions, startErrorOf, startHelper } = await import('../../../helper/main.ts')
  try {
    const helper = await startHelper(readOptions(words, { ...environment }))
    signal.addEventListener('abort', () => void helper.stop(), { once: true })
    io.out(`${JSON.stringify(helper.readiness)}\n`)
    await helper.ended
  } catch (error) {
    const code = startErrorOf(error)
    io.err(`${JSON.stringify({ error: code })}\n`)
    throw new CommandError(code === 'invalid_options' ? 'usage' : 'unexpected', '', { cause: error })
  }
}
