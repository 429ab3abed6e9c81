/** Two texts as one, with marks for what was removed and what was added. */
import { difference } from '../text/difference.ts'
import { Pieces } from '../text/visible.tsx'

interface Props {
  readonly before: string
  readonly after: string
}

const words = { removed: 'Removed', added: 'Added' } as const

export function MarkedDifference({ before, after }: Props) {
  return (
    <div class="difference">
      {difference(before, after).map(({ kind, lines }, index) => {
        const text = <Pieces text={lines.join('\n')} />
        if (kind === 'same') return <p key={index}>{text}</p>
        return (
          <p key={index} class={kind}>
            <span class="sign">{words[kind]}</span>
            {kind === 'removed' ? <del>{text}</del> : <ins>{text}</ins>}
          </p>
        )
      })}
    </div>
  )
}
