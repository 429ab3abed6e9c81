/** Reads the text file that an option names; `-` is standard input. */
import { readFile } from 'node:fs/promises'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'

/** @throws CommandError */
export async function readTextFile({ io }: Pick<CliContext, 'io'>, file: string): Promise<string> {
  if (file === '-') return io.readAll()
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new CommandError('usage', `cannot read ${file} (${reason})`, { cause })
  }
}
