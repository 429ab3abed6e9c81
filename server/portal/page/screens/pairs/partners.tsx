/** The pairs of one agent. */
import { type Named, PairSwitch } from './pair-switch.tsx'
import { mayTalk, type Pairing } from './pairings.ts'

interface Props {
  readonly project: string
  readonly one: Named
  readonly others: readonly Named[]
  readonly pairs: readonly Pairing[]
  readonly refresh: () => Promise<void>
}

export function Partners({ one, others, pairs, ...rest }: Props) {
  return (
    <ul class="partners">
      {others.map((other) => (
        <li key={other.id}>
          <PairSwitch
            {...rest}
            one={one}
            other={other}
            isPaired={mayTalk(pairs, one.id, other.id)}
            text={other.name}
          />
        </li>
      ))}
    </ul>
  )
}
