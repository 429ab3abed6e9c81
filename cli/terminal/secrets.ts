/**
 * Passwords and one-time links: asked on the terminal without echo, or one a line from standard input.
 *
 * Never from an argument: arguments stand in the process list and in shell histories.
 *
 * Contract §12.
 */
import { CommandError } from '../exit-codes.ts'
import type { Io } from './io.ts'

export interface Secrets {
  /** The next one. `what` names it in the prompt and in the error. @throws CommandError when it is missing. */
  next(what: string): Promise<string>
  /** The rest of standard input may hold another one; a terminal can always be asked. */
  hasMore(): Promise<boolean>
  /** A new password: typed twice on a terminal, one line of standard input otherwise. */
  nextChosen(what: string): Promise<string>
}

/** @throws CommandError when there is no terminal to ask and standard input was not named. */
export function openSecrets(io: Io, fromStdin: boolean): Secrets {
  if (fromStdin) return linesOf(io)
  if (io.isTerminal.stdin) return askedOn(io)
  throw new CommandError('usage', 'there is no terminal to ask for a password', {
    hint: '--password-stdin reads it from standard input',
  })
}

function askedOn(io: Io): Secrets {
  const next = async (what: string) => given(await io.readSecret(`${what}: `), what)
  return {
    next,
    hasMore: async () => true,
    nextChosen: async (what) => {
      const first = await next(what)
      if ((await io.readSecret(`${what}, again: `)) === first) return first
      throw new CommandError('usage', 'the two passwords differ; nothing was changed')
    },
  }
}

function linesOf(io: Io): Secrets {
  let rest: Promise<string[]> | undefined
  const lines = () => {
    rest ??= io.readAll().then((text) => text.replace(/\r?\n$/, '').split(/\r?\n/))
    return rest
  }
  const hint = 'standard input holds one line for each; --help tells which'
  const next = async (what: string) => given((await lines()).shift() ?? '', what, hint)
  return { next, hasMore: async () => (await lines()).length > 0, nextChosen: next }
}

function given(text: string, what: string, hint?: string): string {
  if (text !== '') return text
  throw new CommandError('usage', `no ${what} was given`, { hint })
}
