/** One transfer: what was offered, how far it is, what the recipient confirmed, and what is cleaned up. */
import { useState } from 'preact/hooks'
import { limits, type Transfer } from '../../../../sdk/browser.ts'
import { type Agents, useAgents } from '../live/agents.ts'
import { type LiveProject, useLiveProject } from '../live/project.ts'
import { owner } from '../owner.ts'
import { ActButton } from '../parts/dialog.tsx'
import { Heading } from '../parts/heading.tsx'
import { Mark } from '../parts/marks.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { Refused } from '../parts/refused.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { TextArea } from '../parts/text-area.tsx'
import { useOne } from '../parts/whole.ts'
import { Visible } from '../text/visible.tsx'
import { faultsOf } from '../words/refusals.ts'
import { isMoving, transferStates } from '../words/transfers.ts'
import { Offer, Steps } from './transfers/facts.tsx'

export function OneTransfer() {
  const { id = '' } = useParams()
  const live = useLiveProject(id)
  return (
    <>
      <p>
        <a href={`/projects/${id}/transfers`}>‹ Transfers</a>
      </p>
      <Silence live={live} />
      <Whole project={id} live={live} agents={useAgents(id, live)} />
    </>
  )
}

interface Props {
  readonly project: string
  readonly live: LiveProject
  readonly agents: Agents
}

function Whole({ project, live, agents: { nameOf } }: Props) {
  const { transfer: id = '' } = useParams()
  const read = (options: { readonly signal: AbortSignal }) => owner.transfers.get(project, id, options)
  const one = useOne(`transfer ${id}`, read, { live, kinds: ['transfer.'], about: id })
  const transfer = one.items.value?.[0]?.value
  if (transfer === undefined) return <Refused title="Transfer" error={one.error.value} />
  const { mark, words } = transferStates[transfer.state]
  return (
    <>
      <div class="head">
        <Heading title="Transfer">
          <Visible text={transfer.filename} />
        </Heading>
        {isMoving(transfer) && <CancelTransfer project={project} transfer={transfer} done={one.refresh} />}
      </div>
      <Refusal error={one.error.value} />
      <p>
        <Mark name={mark} /> <strong>{words}</strong>
      </p>
      <Offer project={project} transfer={transfer} nameOf={nameOf} />
      <Steps transfer={transfer} nameOf={nameOf} />
    </>
  )
}

interface CancelProps {
  readonly project: string
  readonly transfer: Transfer
  readonly done: () => Promise<void>
}

function CancelTransfer({ project, transfer: { id }, done }: CancelProps) {
  const [reason, setReason] = useState('')
  return (
    <ActButton
      label="Cancel the transfer…"
      title="Cancel the transfer?"
      verb="Cancel the transfer"
      busy="Cancelling…"
      dismiss="Back"
      act={async () => {
        await owner.transfers.cancel(project, id, { reason: reason || undefined })
        await done()
      }}
    >
      {(error) => (
        <>
          <p>Both sides get a message, and the node deletes the bytes that it stores.</p>
          <TextArea
            label="Reason"
            hint="May stay empty"
            maxBytes={limits.transferReasonBytes}
            value={reason}
            change={setReason}
            fault={faultsOf(error).reason}
          />
        </>
      )}
    </ActButton>
  )
}
