/** Words about a time, drawn again each second. */
import { nodeNow } from '../node-clock.ts'

interface Props {
  /** Gets the present time of the node. */
  readonly words: (nowMs: number) => string | undefined
}

export const Ticking = ({ words }: Props) => <>{words(nodeNow.value)}</>
