/** Names the other participants of a conversation, as people know them. */
import type { Conversation } from '../../sdk/index.ts'

export const otherSide = ({ participants }: Conversation, ownId: string): string =>
  participants
    .filter(({ agent_id }) => agent_id !== ownId)
    .map(({ kind, name }) => (kind === 'owner' ? 'owner' : name))
    .join(', ')
