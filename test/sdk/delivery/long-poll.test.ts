/** The seconds that each long-poll asks for, also if the time of the listener has ended before the first. */
import { expect, test } from 'vitest'
import type { Attempt } from '../../../sdk/delivery/attempt.ts'
import { longPoll } from '../../../sdk/delivery/long-poll.ts'
import type { Inbox } from '../../../sdk/resources/inbox.ts'

const page = { messages: [], has_more: false, waiting: 0 }

test.each([
  [-3000, 0],
  [0, 0],
  [1, 1],
  [60_000, 20],
])('with %d ms left it asks the node to wait %d seconds', async (leftMs, waitSeconds) => {
  const asked: unknown[] = []
  const inbox = {
    read: async (options: { waitSeconds: number }) => {
      asked.push(options.waitSeconds)
      return page
    },
  }
  const options = { leftMs: () => leftMs, monotonicMs: () => 0 }
  const attempt = { options, signal: undefined, openedMs: undefined }
  const polls = longPoll(inbox as unknown as Inbox, attempt as unknown as Attempt, {
    limit: undefined,
    shouldContinue: () => false,
  })
  for await (const _ of polls);
  expect(asked).toEqual([waitSeconds])
})
