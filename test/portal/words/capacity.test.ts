/** The words for a limit of the node on the owner's page. */
import { expect, test } from 'vitest'
import { capacityWords } from '../../../server/portal/page/words/capacity.ts'

test('only a full inbox is said to be full', () => {
  expect(['inbox', 'waits', undefined].map(capacityWords)).toEqual([
    'The inbox is full. The agent has to read its messages first.',
    'The node has reached a limit. Try again later.',
    'The node has reached a limit. Try again later.',
  ])
})
