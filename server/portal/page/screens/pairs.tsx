/** Pairs of agents that may talk: a matrix for up to 12 agents, a list by agent for more. */
import { useLiveProject } from '../live/project.ts'
import { owner } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useParams } from '../parts/router.tsx'
import { useWhole } from '../parts/whole.ts'
import { Visible } from '../text/visible.tsx'
import { useNarrow } from './pairs/narrow.ts'
import { type Named, PairSwitch } from './pairs/pair-switch.tsx'
import { mayTalk, type Pairing, usePairings } from './pairs/pairings.ts'
import { Partners } from './pairs/partners.tsx'

const mostInMatrix = 12

export function Pairs() {
  const { id = '' } = useParams()
  const live = useLiveProject(id)
  const isNarrow = useNarrow()
  const agents = useWhole(
    `paired agents ${id}`,
    (options) => owner.agents.all(id, { ...options, state: 'enabled' }),
    {
      live,
      kinds: ['agent.'],
    },
  )
  const pairings = usePairings(id, live)
  const [all, pairs] = [agents.items.value, pairings.items.value]
  const Shape = isNarrow || (all?.length ?? 0) > mostInMatrix ? ByAgent : Matrix
  return (
    <>
      <Heading title="Pairs">Pairs</Heading>
      <p class="meta">
        Two agents talk only if they are paired. When an agent starts a session, the node pairs it with every
        enabled agent, except where a pair was turned off.
      </p>
      <Refusal error={agents.error.value ?? pairings.error.value} />
      {all !== undefined && all.length < 2 && <p>A pair needs two agents.</p>}
      {all !== undefined && all.length > 1 && pairs !== undefined && (
        <Shape project={id} agents={all} pairs={pairs} refresh={pairings.refresh} />
      )}
    </>
  )
}

interface Props {
  readonly project: string
  readonly agents: readonly Named[]
  readonly pairs: readonly Pairing[]
  readonly refresh: () => Promise<void>
}

function Matrix({ agents, pairs, ...rest }: Props) {
  return (
    <table class="matrix">
      <thead>
        <tr>
          <td />
          {agents.slice(0, -1).map(({ id, name }) => (
            <th key={id} scope="col">
              <Visible text={name} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {agents.slice(1).map((one, row) => (
          <tr key={one.id}>
            <th scope="row">
              <Visible text={one.name} />
            </th>
            {agents.slice(0, -1).map((other, column) => (
              <td key={other.id}>
                {column <= row && (
                  <PairSwitch {...rest} one={other} other={one} isPaired={mayTalk(pairs, one.id, other.id)} />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function ByAgent({ agents, pairs, ...rest }: Props) {
  return (
    <ul class="rows">
      {agents.map((one) => {
        const others = agents.filter(({ id }) => id !== one.id)
        const count = others.filter(({ id }) => mayTalk(pairs, one.id, id)).length
        return (
          <li key={one.id}>
            <details>
              <summary>
                <Visible text={one.name} />{' '}
                <span class="meta">
                  paired with {count} of {others.length}
                </span>
              </summary>
              <Partners one={one} others={others} pairs={pairs} {...rest} />
            </details>
          </li>
        )
      })}
    </ul>
  )
}
