/** Sign-ins of the person who is signed in, and the act that ends one. */
import type { OwnerSession } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { Columns } from '../../parts/columns.tsx'
import { ActButton } from '../../parts/dialog.tsx'
import { note } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { plainName } from '../../text/plain-name.ts'
import { Visible } from '../../text/visible.tsx'
import { browserOf } from '../../words/browser.ts'

interface Props {
  readonly all: readonly OwnerSession[]
  readonly read: () => Promise<void>
}

const columns = ['Program', 'Since', 'Last used', 'Ends', 'Act'] as const

export function SignIns({ all, read }: Props) {
  return (
    <section aria-labelledby="sign-ins">
      <h2 id="sign-ins">Your sign-ins</h2>
      <table class="stacked">
        <Columns names={columns} />
        <tbody>
          {all.map((each) => (
            <Row key={each.id} signIn={each} read={read} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface RowProps {
  readonly signIn: OwnerSession
  readonly read: () => Promise<void>
}

function Row({ signIn: { id, user_agent, created_at, last_used_at, expires_at, current }, read }: RowProps) {
  const program = browserOf(user_agent)
  const end = async () => {
    await owner.signIn.revoke(id)
    note('The sign-in was ended.')
    await read()
  }
  return (
    <tr>
      <th scope="row">
        <span title={plainName(user_agent)}>
          <Visible text={program} />
        </span>
        {current && <span class="tag">this one</span>}
      </th>
      <td data-label="Since">
        <When at={created_at} isExact />
      </td>
      <td data-label="Last used">{current ? 'now' : <When at={last_used_at} />}</td>
      <td data-label="Ends">
        <When at={expires_at} isExact />
      </td>
      <td data-label="Act">
        {current ? (
          <span class="meta">Sign out ends it</span>
        ) : (
          <ActButton
            label="End…"
            about={`End the sign-in of ${plainName(program)}`}
            title="End this sign-in?"
            verb="End the sign-in"
            act={end}
          >
            <p>
              <Visible text={program} />: whoever uses it has to sign in again. Text that is not sent stays
              there.
            </p>
          </ActButton>
        )}
      </td>
    </tr>
  )
}
