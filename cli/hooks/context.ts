/** Everything that a hook may use from outside. main.ts makes it for a process, a test for itself. */
export interface HookContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Folder of all profiles (BRIDGE_HOME). */
  readonly home: string
  readonly workingDirectory: string
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
  readonly process: { readonly pid: number; readonly parent: number }
  /** Path of the program that runs. */
  readonly program: string
  /** Aborted at the deadline of a hook, or by a signal that ends a waiter. */
  readonly signal: AbortSignal
  /** Milliseconds since the process started. */
  readonly elapsedMs: () => number
  /** The whole standard input. @throws HookFailure if it is too long. */
  readonly input: () => Promise<string>
  /** Writes to standard output before it returns. */
  readonly out: (text: string) => void
  /** Writes to standard error before it returns. */
  readonly err: (text: string) => void
}

/** Reason why a hook does nothing. It is one line of the log and reaches neither the harness nor the model. */
export class HookFailure extends Error {
  override readonly name = 'HookFailure'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
