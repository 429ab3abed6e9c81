/** The text of a message: an argument, or standard input when it is absent or `-`. Contract §12. */
import { CommandError } from '../exit-codes.ts'
import type { Io } from '../terminal/io.ts'

/**
 * The text; one newline at the end of standard input belongs to the shell. `name` is the argument's.
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
 * {@link messageBody} of a message, refused here when it is too long: while the node is away it would be kept, only to be
 * refused later.
 */
export async function requireMessageBody(io: Io, argument: string | undefined): Promise<string> {
  const text = await messageBody(io, argument)
  const { limits } = await import('../../sdk/index.ts')
  const bytes = Buffer.byteLength(text)
  if (bytes <= limits.messageBodyBytes) return text
  throw new CommandError(
    'usage',
    `the text is ${bytes} bytes long; a message holds at most ${limits.messageBodyBytes}`,
  )
}

function nonEmpty(text: string, name: string): string {
  if (text !== '') return text
  throw new CommandError('usage', `<${name}> is empty`, {
    hint: 'give it as an argument in quotes, or on standard input',
  })
}
