/** The command that runs, with its options and arguments as its help names them. */
export interface CurrentCommand {
  /** The words after `bridge`: `task show`. */
  readonly words: string
  /** Such as `--ttl`. */
  readonly options: readonly string[]
  /** Such as `title`. */
  readonly arguments: readonly string[]
}

export const noCommand: CurrentCommand = { words: '', options: [], arguments: [] }
