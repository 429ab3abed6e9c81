/** Names of the two sides of a conversation. */
import type { Conversation } from '../../../../../sdk/browser.ts'
import { Visible } from '../../text/visible.tsx'
import { peopleSide } from '../../words/people.ts'

export function Participants({ of: { participants } }: { readonly of: Conversation }) {
  return (
    <>
      {participants.map(({ agent_id, name }, index) => (
        <span key={agent_id ?? ''}>
          {index > 0 && ' and '}
          {agent_id === null ? peopleSide() : <Visible text={name} />}
        </span>
      ))}
    </>
  )
}
