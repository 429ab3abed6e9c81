/** Who an agent talks to in a conversation, as a person names it. */
import type { Conversation } from '../../sdk/index.ts'

export const otherSide = ({ participants }: Conversation, ownId: string): string =>
  participants
    .filter(({ agent_id }) => agent_id !== ownId)
    .map(({ kind, name }) => (kind === 'owner' ? 'owner' : name))
    .join(', ')
