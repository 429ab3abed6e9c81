/**
 * Passwords and one-time links, read from the terminal without echo, or one per line from standard input.
 *
 * They are never taken from an argument, because arguments appear in the process list and in shell histories.
 *
 * Contract §12.
 */
import { CommandError } from '../exit-codes.ts'
import type { Io } from './io.ts'

export interface Secrets {
  /**
   * Returns the next secret. `what` names it in the prompt and the error. @throws CommandError when it is
   * missing.
   */
  next(what: string): Promise<string>
  /** Returns whether another secret can be read; always true on a terminal. */
  hasMore(): Promise<boolean>
  /**
   * Returns a new password, typed twice on a terminal or read from one line of standard input. A terminal asks
   * again for one that is too short, and at most three times if the two differ.
   */
  nextChosen(what: string): Promise<string>
}

/** @throws CommandError when there is no terminal and `fromStdin` is false. */
export function openSecrets(io: Io, fromStdin: boolean): Secrets {
  if (fromStdin) return lineSecrets(io)
  if (io.isTerminal.stdin) return terminalSecrets(io)
  throw new CommandError('usage', 'no terminal to read the password from', {
    hint: '--password-stdin reads it from standard input',
  })
}

const triesMost = 3

function terminalSecrets(io: Io): Secrets {
  const next = async (what: string) => required(await io.readSecret(`${what}: `), what)
  return {
    next,
    hasMore: async () => true,
    nextChosen: async (what) => {
      const { min } = (await import('../../sdk/program.ts')).limits.password
      for (let tries = 0, ask = what; tries < triesMost; tries += 1, ask = `the two differ; ${what}`) {
        let first = await next(ask)
        while (first.length < min) first = await next(`it must have at least ${min} characters; ${what}`)
        if ((await io.readSecret(`${what}, again: `)) === first) return first
      }
      throw new CommandError('usage', 'the two passwords differ; nothing was changed')
    },
  }
}

function lineSecrets(io: Io): Secrets {
  let rest: Promise<string[]> | undefined
  const lines = () => {
    rest ??= io.readAll().then((text) => text.replace(/\r?\n$/, '').split(/\r?\n/))
    return rest
  }
  const hint = 'standard input must have one line for each secret; --help lists them'
  const next = async (what: string) => required((await lines()).shift() ?? '', what, hint)
  return { next, hasMore: async () => (await lines()).length > 0, nextChosen: next }
}

function required(text: string, what: string, hint?: string): string {
  if (text !== '') return text
  throw new CommandError('usage', `no ${what} was given`, { hint })
}
