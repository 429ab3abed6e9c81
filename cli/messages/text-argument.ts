/** Text of a message: an argument, or standard input if the argument is absent or `-`. Contract §12. */
import { CommandError } from '../exit-codes.ts'
import type { Io } from '../terminal/io.ts'

/**
 * Returns the text, without the newline that the shell adds at the end of standard input. `name` names the
 * argument.
 *
 * @throws CommandError when there is none.
 */
export async function messageBody(io: Io, argument: string | undefined, name = 'text'): Promise<string> {
  if (argument !== undefined && argument !== '-') return nonEmpty(argument, name)
  if (argument === undefined && io.isTerminal.stdin) {
    throw new CommandError('usage', `no ${name} was given`, {
      hint: 'give it as an argument, or - to type it on standard input',
    })
  }
  return nonEmpty((await io.readAll()).replace(/\r?\n$/, ''), name)
}

/**
 * {@link messageBody} that refuses a text that is too long. Otherwise, while the node is unreachable, the
 * outbox would keep a message that the node later refuses.
 */
export async function requireMessageBody(io: Io, argument: string | undefined): Promise<string> {
  const text = await messageBody(io, argument)
  const { limits } = await import('../../sdk/index.ts')
  const bytes = Buffer.byteLength(text)
  if (bytes <= limits.messageBodyBytes) return text
  throw new CommandError(
    'usage',
    `the text has ${bytes} bytes; a message may have at most ${limits.messageBodyBytes}`,
  )
}

function nonEmpty(text: string, name: string): string {
  if (text !== '') return text
  throw new CommandError('usage', `<${name}> is empty`, {
    hint: 'give it as an argument in quotes, or on standard input',
  })
}
