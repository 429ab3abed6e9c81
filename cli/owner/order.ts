/** `--newest`, on every list of the owner. Contract §10 "Lists". */
import type { Command } from '../command.ts'

export interface NewestOption {
  readonly newest?: true
}

export const withNewest = (to: Command): Command => to.option('--newest', 'newest first')

/** Returns the direction for the SDK. */
export const orderOf = ({ newest }: NewestOption): { order?: 'newest_first' } =>
  newest ? { order: 'newest_first' } : {}
