/** Parts that the hooks of all moments use. */
import type { HookContext } from './context.ts'
import type { Reader } from './notice.ts'
import type { HookSession } from './session.ts'

export type HookExit = 0 | 2

/** Writes a line of the log. A failure makes `doctor` report it. */
export type HookNote = (outcome: string, failure?: unknown) => void

export interface HookParts {
  readonly context: HookContext
  readonly session: HookSession
  readonly note: HookNote
  /** Adds the text to the model's context, in the form that the harness expects. */
  readonly say: (text: string) => void
}

export const readerOf = ({ context, session }: HookParts): Reader => ({
  program: context.program,
  profile: session.profile,
})
