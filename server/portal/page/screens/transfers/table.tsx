/** Transfers as a table. On a narrow screen each row is a list of its cells. */
import type { TransferSummary } from '../../../../../sdk/browser.ts'
import { Columns } from '../../parts/columns.tsx'
import { Mark } from '../../parts/marks.tsx'
import { Ticking } from '../../parts/ticking.tsx'
import { Visible } from '../../text/visible.tsx'
import {
  expiryWords,
  isMoving,
  modeWords,
  sealWords,
  sizeWords,
  transferStates,
} from '../../words/transfers.ts'

interface Props {
  readonly project: string
  readonly transfers: readonly TransferSummary[]
  readonly nameOf: (id: string) => string
}

const columns = ['File', 'State', 'Size', 'From', 'To', 'Way', 'Expires'] as const

export function TransferTable({ project, transfers, nameOf }: Props) {
  return (
    <table class="work">
      <Columns names={columns} />
      <tbody>
        {transfers.map((transfer) => {
          const { mark, words } = transferStates[transfer.state]
          return (
            <tr key={transfer.id}>
              <th scope="row">
                <a href={`/projects/${project}/transfers/${transfer.id}`}>
                  <Visible text={transfer.filename} />
                </a>
              </th>
              <td data-label="State">
                <Mark name={mark} /> {words}
              </td>
              <td data-label="Size">{sizeWords(transfer)}</td>
              <td data-label="From">
                <Visible text={nameOf(transfer.sender_agent_id)} />
              </td>
              <td data-label="To">
                <Visible text={nameOf(transfer.recipient_agent_id)} />
              </td>
              <td data-label="Way">
                {modeWords(transfer)}, {sealWords(transfer)}
              </td>
              <td data-label="Expires">
                {isMoving(transfer) ? <Ticking words={(nowMs) => expiryWords(transfer, nowMs)} /> : '–'}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
