/** One project: what needs the owner, the agents and their presence, the latest activity. */
import { useComputed } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { ProjectSnapshot } from '../../../../sdk/browser.ts'
import { useLiveProject } from '../live/project.ts'
import { owner } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { Refused } from '../parts/refused.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { act, note } from '../parts/toast.tsx'
import { Activity } from './overview/activity.tsx'
import { Agents } from './overview/agents.tsx'
import { Attention } from './overview/attention.tsx'
import { MessageAll } from './overview/message-all.tsx'

export function Overview() {
  const { id = '' } = useParams()
  const live = useLiveProject(id)
  const state = useComputed(() => live.snapshot.value?.project.state)
  const snapshot = live.snapshot.value
  if (snapshot === undefined) return <Refused title="Overview" error={live.error.value} />
  const { project, attention, agents, counts } = snapshot
  const words = taskWords(counts.tasks)
  return (
    <>
      <div class="head">
        <Heading title="Overview">
          <bdi>{project.name}</bdi>
        </Heading>
        {state.value !== 'active' && <span class="tag">{state.value}</span>}
        <a class="button quiet" href={`/projects/${id}/settings`}>
          Project settings
        </a>
        <PauseButton project={project} refresh={live.refresh} />
      </div>
      <Silence live={live} />
      <Attention project={id} items={attention} toOwner={counts.to_owner} refresh={live.refresh} />
      {agents.length === 0 ? <p>No agent yet.</p> : <Agents project={id} live={live} />}
      <p class="actions">
        <a class="button quiet" href={`/?project=${id}`}>
          Add agents
        </a>
        <a class="button quiet" href={`/projects/${id}/tasks`}>
          Tasks{words !== '' && `: ${words}`}
        </a>
      </p>
      <MessageAll project={id} agents={agents} />
      <Activity project={id} records={snapshot.activity} />
    </>
  )
}

const taskWords = ({ open, claimed, cancel_requested }: ProjectSnapshot['counts']['tasks']): string =>
  [
    open > 0 && `${open} open`,
    claimed > 0 && `${claimed} held`,
    cancel_requested > 0 && `${cancel_requested} stopping`,
  ]
    .filter(Boolean)
    .join(', ')

interface PauseProps {
  readonly project: ProjectSnapshot['project']
  readonly refresh: () => Promise<void>
}

function PauseButton({ project: { id, state }, refresh }: PauseProps) {
  const [isBusy, setBusy] = useState(false)
  if (state === 'archived') return null
  const set = async (to: 'active' | 'paused') => {
    await owner.projects.setState(id, to)
    await refresh()
  }
  const change = async () => {
    setBusy(true)
    await act(async () => {
      await set(state === 'active' ? 'paused' : 'active')
      const done =
        state === 'active'
          ? 'Paused: agents start nothing new. Your messages still reach them.'
          : 'The project is active.'
      note(done, () => set(state))
    })
    setBusy(false)
  }
  return (
    <button type="button" class="quiet" disabled={isBusy} onClick={() => void change()}>
      {state === 'active' ? 'Pause' : 'Resume'}
    </button>
  )
}
