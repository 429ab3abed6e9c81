/** The agents with which one agent may talk. */
import { owner } from '../../owner.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { Section } from '../../parts/section.tsx'
import { useWhole } from '../../parts/whole.ts'
import { usePairings } from '../pairs/pairings.ts'
import { Partners } from '../pairs/partners.tsx'
import type { About } from './about.ts'

export function PairsOfAgent({ project, agent, live }: About) {
  const pairings = usePairings(project, live)
  const agents = useWhole(
    `paired agents ${project}`,
    (options) => owner.agents.all(project, { ...options, state: 'enabled' }),
    { live, kinds: ['agent.'] },
  )
  const others = agents.items.value?.filter(({ id }) => id !== agent.id)
  const pairs = pairings.items.value
  return (
    <Section id="pairs" title="Pairs">
      <Refusal error={agents.error.value ?? pairings.error.value} />
      {others?.length === 0 && <p>There is no other agent.</p>}
      {others !== undefined && pairs !== undefined && (
        <Partners project={project} one={agent} others={others} pairs={pairs} refresh={pairings.refresh} />
      )}
    </Section>
  )
}
