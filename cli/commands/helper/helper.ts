/**
 * `bridge helper`: the local program that serves or receives one file directly.
 *
 * Usually `starts-helper.ts` starts the helper before the command tree is loaded. This command exists for the
 * help, and for argument orders such as `bridge --json helper`.
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
      'Serve or receive one file on 127.0.0.1 for clients with the token in SERVICE_TRANSFER_TOKEN, until the lifetime ends. Prints one line of JSON when it is ready. If the start fails, prints a fixed error code.',
    )
    .option('--manifest <file>', 'the manifest of the transfer; required')
    .option('--root <folder>', 'folder of the file; required')
    .option('--port <number>', 'port to listen on (default 0: any free port)')
    .option('--ttl <seconds>', 'lifetime from 1 to 1800 (default 1800)')
    .option('--max-bytes <number>', 'largest file to accept (default 1 GiB, at most 10 GiB)')
    .option('--end-with-input', 'end when standard input ends; for a program that starts the helper')
    .action((options: HelperFlags) => run(context, options))
    .addCommand(manifestCommand(context))
}

/** Runs the helper. A failure prints only a fixed code, as when the launcher starts it. */
export async function helper({ io, environment, signal }: CliContext, options: HelperFlags): Promise<void> {
  const { manifest, root, port, ttl, maxBytes, endWithInput } = options
  const given = Object.entries({ manifest, root, port, ttl, 'max-bytes': maxBytes })
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]))
  if (endWithInput) words.push('--end-with-input')
  const { readOptions, startErrorOf, startHelper, stopOnRequest } = await import('../../../helper/main.ts')
  try {
    const checked = readOptions(words, { ...environment })
    const helper = await startHelper(checked)
    stopOnRequest(helper, checked)
    signal.addEventListener('abort', () => void helper.stop(), { once: true })
    io.out(`${JSON.stringify(helper.readiness)}\n`)
    await helper.ended
  } catch (error) {
    const code = startErrorOf(error)
    io.err(`${JSON.stringify({ error: code })}\n`)
    throw new CommandError(code === 'invalid_options' ? 'usage' : 'unexpected', '', { cause: error })
  }
}
