/** A time: relative or exact as the reader prefers, with the exact times of both zones in its title. */
import { nodeNow } from '../node-clock.ts'
import { preferences } from '../preferences.ts'
import { exact, otherwise, when } from '../words/time.ts'

interface Props {
  readonly at: string
  /** True where the moment matters more than its age, as in a table of records. */
  readonly isExact?: boolean
}

export function When({ at, isExact = false }: Props) {
  const showsExact = isExact || preferences.value.times === 'exact'
  return (
    <time dateTime={at} title={showsExact ? otherwise(at) : `${exact(at)} · ${otherwise(at)}`}>
      {showsExact ? exact(at) : when(at, nodeNow.value)}
    </time>
  )
}
