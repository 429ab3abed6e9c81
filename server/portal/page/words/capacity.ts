/** The words for a limit of the node that an action reached. */
export const capacityWords = (limit: unknown): string =>
  limit === 'inbox'
    ? 'The inbox is full. The agent has to read its messages first.'
    : 'The node has reached a limit. Try again later.'
