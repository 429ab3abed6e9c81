/** A command with its options and arguments, as its help names them. */
export interface Takes {
  /** The words after `bridge`: `task show`. */
  readonly words: string
  /** Such as `--ttl`. */
  readonly options: readonly string[]
  /** Such as `title`. */
  readonly arguments: readonly string[]
}

export const nothingTyped: Takes = { words: '', options: [], arguments: [] }
