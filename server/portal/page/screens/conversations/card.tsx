/** Task or transfer that a message is about, by its verified id. */
import { useEffect, useState } from 'preact/hooks'
import { owner } from '../../owner.ts'
import { Visible } from '../../text/visible.tsx'

interface Props {
  readonly kind: 'task' | 'transfer'
  readonly project: string
  readonly id: string
}

interface Facts {
  readonly name: string
  readonly state: string
}

export function Card({ kind, project, id }: Props) {
  const [facts, setFacts] = useState<Facts>()
  useEffect(() => {
    let isOpen = true
    // Without its name and state, the card is still a link.
    read(kind, project, id).then(
      (found) => isOpen && setFacts(found),
      () => undefined,
    )
    return () => {
      isOpen = false
    }
  }, [kind, project, id])
  return (
    <p class="linked">
      {kind}{' '}
      <a href={`/projects/${project}/${kind}s/${id}`}>
        {facts === undefined ? id : <Visible text={facts.name} />}
      </a>
      {/* The message may tell of an earlier state. */}
      {facts !== undefined && <span class="tag">now {facts.state.replaceAll('_', ' ')}</span>}
    </p>
  )
}

/** Reads of cards that are drawn together. Several messages can be about one task. */
const reads = new Map<string, Promise<Facts>>()

function read(kind: Props['kind'], project: string, id: string): Promise<Facts> {
  const key = `${kind} ${id}`
  const known = reads.get(key)
  if (known !== undefined) return known
  const reading = kind === 'task' ? taskOf(project, id) : transferOf(project, id)
  reads.set(key, reading)
  const forget = () => reads.delete(key)
  reading.then(() => setTimeout(forget, 5000), forget)
  return reading
}

const taskOf = async (project: string, id: string): Promise<Facts> => {
  const { title, state } = await owner.tasks.get(project, id)
  return { name: title, state }
}

const transferOf = async (project: string, id: string): Promise<Facts> => {
  const { filename, state } = await owner.transfers.get(project, id)
  return { name: filename, state }
}
