/** Transfers of a project, newest first. */
import { useLocation } from 'preact-iso/router'
import { limits } from '../../../../sdk/browser.ts'
import { useAgents } from '../live/agents.ts'
import { useLiveProject } from '../live/project.ts'
import { owner } from '../owner.ts'
import { Choice } from '../parts/choice.tsx'
import { Heading } from '../parts/heading.tsx'
import { Older, usePages } from '../parts/page-of.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useParams } from '../parts/router.tsx'
import { failureBeside, Silence } from '../parts/silence.tsx'
import { olderOf } from '../parts/whole.ts'
import { type TransferState, transferStates } from '../words/transfers.ts'
import { TransferTable } from './transfers/table.tsx'

const states = Object.keys(transferStates) as TransferState[]
const choices: readonly (readonly [TransferState | '', string])[] = [
  ['', 'all states'],
  ...states.map((state) => [state, transferStates[state].words] as const),
]

export function Transfers() {
  const { id = '' } = useParams()
  const { path, query, route } = useLocation()
  const state = states.find((each) => each === query.state)
  const live = useLiveProject(id)
  const { nameOf } = useAgents(id, live)
  const list = usePages(
    `transfers ${id} ${state}`,
    async (after, signal) => {
      const query = { after, state, order: 'newest_first', limit: limits.pageMax, signal } as const
      const page = await owner.transfers.list(id, query)
      return { items: page.transfers, older: olderOf(page) }
    },
    { live, kinds: ['transfer.'] },
  )
  const transfers = list.items.value
  return (
    <>
      <Heading title="Transfers">Transfers</Heading>
      <Silence live={live} />
      <fieldset class="work-filters" aria-label="Filters">
        <Choice
          label="State"
          value={state ?? ''}
          options={choices}
          change={(to) => route(to === '' ? path : `${path}?state=${to}`, true)}
        />
      </fieldset>
      <Refusal error={failureBeside(live, list.error.value)} />
      {transfers?.length === 0 && (
        <p>
          {state === undefined
            ? 'No transfers. An agent offers a file to another with bridge send --file.'
            : 'No transfer is in this state.'}
        </p>
      )}
      {transfers !== undefined && transfers.length > 0 && (
        <TransferTable project={id} transfers={transfers} nameOf={nameOf} />
      )}
      <Older of={list} noun="transfers" />
    </>
  )
}
