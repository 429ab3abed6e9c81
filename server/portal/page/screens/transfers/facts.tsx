/** Facts of a transfer, and its steps with their times. The endpoint and the token of a helper are never shown. */
import type { Transfer } from '../../../../../sdk/browser.ts'
import { Copy } from '../../parts/copy.tsx'
import { Elsewhere } from '../../parts/elsewhere.tsx'
import { Mark } from '../../parts/marks.tsx'
import { Ticking } from '../../parts/ticking.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import {
  expiryWords,
  isMoving,
  modeWords,
  receiptWords,
  sealWords,
  sizeWords,
} from '../../words/transfers.ts'

interface Props {
  readonly transfer: Transfer
  readonly nameOf: (id: string) => string
}

export function Offer({ project, transfer, nameOf }: Props & { readonly project: string }) {
  const { sender_agent_id: sender, recipient_agent_id: recipient, sha256 } = transfer
  const home = `/projects/${project}`
  return (
    <section aria-labelledby="offer">
      <h2 id="offer">Offer</h2>
      <dl class="work-facts">
        <dt>From</dt>
        <dd>
          <a href={`${home}/agents/${sender}`}>
            <Visible text={nameOf(sender)} />
          </a>
        </dd>
        <dt>To</dt>
        <dd>
          <a href={`${home}/agents/${recipient}`}>
            <Visible text={nameOf(recipient)} />
          </a>
        </dd>
        <dt>Size</dt>
        <dd>{sizeWords(transfer)}</dd>
        <dt>SHA-256</dt>
        <dd>
          <code>{sha256}</code> <Copy text={sha256} label="Copy" isQuiet />
        </dd>
        <dt>Way</dt>
        <dd>
          {modeWords(transfer)}, {sealWords(transfer)}
        </dd>
        <dt>Offered</dt>
        <dd>
          <When at={transfer.created_at} isExact />
        </dd>
        <dt>{isMoving(transfer) ? 'Expires' : 'Last change'}</dt>
        <dd>
          {isMoving(transfer) ? (
            <>
              <When at={transfer.expires_at} isExact /> (
              <Ticking words={(nowMs) => expiryWords(transfer, nowMs)} />)
            </>
          ) : (
            <When at={transfer.updated_at} isExact />
          )}
        </dd>
        <Elsewhere project={project} noun="Transfer" of={transfer} />
      </dl>
    </section>
  )
}

export function Steps({ transfer, nameOf }: Props) {
  const { package: stored, offer, parts, receipt, cleanup } = transfer
  const [sender, recipient] = [nameOf(transfer.sender_agent_id), nameOf(transfer.recipient_agent_id)]
  const { mark, words } = receiptWords(transfer, recipient)
  return (
    <section aria-labelledby="steps">
      <h2 id="steps">Steps</h2>
      <dl class="work-facts">
        {stored === null ? (
          <>
            <dt>Endpoint</dt>
            <dd>
              {offer.endpoint_ready ? 'deposited for the other side' : 'not deposited'}; the node stores no
              bytes
            </dd>
          </>
        ) : (
          <>
            <dt>Upload</dt>
            <dd>
              {stored.stored_parts} of {parts.length} parts stored; {stored.stored_at !== null && 'finished '}
              <Done at={stored.stored_at} />
            </dd>
          </>
        )}
        <dt>Receipt</dt>
        <dd>
          <p>
            <Mark name={mark} /> {words}
          </p>
          {receipt !== null && (
            <p class="meta">
              <When at={receipt.verified_at} isExact />, {sizeWords(receipt)}, <code>{receipt.sha256}</code>
            </p>
          )}
        </dd>
        {stored !== null && (
          <>
            <dt>Bytes removed from the node</dt>
            <dd>
              <Done at={stored.removed_at} />
            </dd>
          </>
        )}
        <dt>
          Cleanup by <Visible text={sender} />
        </dt>
        <dd>
          <CleanUp at={cleanup.sender_at} by={sender} isOver={!isMoving(transfer)} />
        </dd>
        <dt>
          Cleanup by <Visible text={recipient} />
        </dt>
        <dd>
          <CleanUp at={cleanup.recipient_at} by={recipient} isOver={!isMoving(transfer)} />
        </dd>
        <dt>Cleanup by the node</dt>
        <dd>
          <Done at={cleanup.service_at} />
        </dd>
      </dl>
    </section>
  )
}

const Done = ({ at }: { readonly at: string | null }) => (at === null ? 'not done' : <When at={at} isExact />)

interface CleanUpProps {
  readonly at: string | null
  readonly by: string
  readonly isOver: boolean
}

/** A side cleans up its own machine, so a missing report is no task of the owner. */
function CleanUp({ at, by, isOver }: CleanUpProps) {
  if (at !== null || !isOver) return <Done at={at} />
  return (
    <>
      <Visible text={by} /> has not said that it cleaned up; nothing for you to do.
    </>
  )
}
