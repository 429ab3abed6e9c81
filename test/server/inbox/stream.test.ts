/** Notices to a stream of the inbox at moments that only a held read shows. */
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../server/api-error.ts'
import type { Context } from '../../../server/context.ts'
import type { AgentCaller } from '../../../server/identity/callers.ts'
import { InboxStream, type Outlet, type StreamEnd, type StreamEvent } from '../../../server/inbox/stream.ts'
import { message } from '../../support/bridges.ts'

const nothing = () => {}

/** What one read of the inbox returns. */
const pageOf = (...messages: object[]) => ({
  page: { messages, has_more: false, waiting: messages.length },
  at: new Date(0),
  nextDueAt: undefined,
  settle: async () => {},
  drop: nothing,
})

/** An open stream. Each of its reads waits until the test answers it. */
async function openStream() {
  const reads: PromiseWithResolvers<unknown>[] = []
  const sent: { readonly event: StreamEvent; readonly flushed: (ok: boolean) => void }[] = []
  const ends: StreamEnd[] = []
  let wake = nothing
  const context = {
    clock: () => new Date(0),
    monotonicMs: () => 0,
    read: () => {
      const read = Promise.withResolvers<unknown>()
      reads.push(read)
      return read.promise
    },
    presence: { openWait: () => nothing },
    wakeups: {
      subscribe: (_agentId: string, notify: () => void) => {
        wake = notify
        return nothing
      },
    },
    receipts: { subscribe: () => nothing },
    streams: { add: () => nothing },
  } as unknown as Context
  const outlet: Outlet = {
    send: (event, flushed) => void sent.push({ event, flushed }),
    unsentBytes: 0,
    end: (reason) => void ends.push(reason),
  }
  const opening = InboxStream.open(context, { isNew: false } as AgentCaller, {
    seconds: 60,
    transport: 'socket',
    outlet: () => outlet,
  })
  reads[0]?.resolve({ agent_id: 'ada', session: { id: 'of ada', generation: 1 } })
  await opening
  return { reads, sent, ends, wake: () => wake() }
}

/** Lets the stream do all that it can without an answer of the test. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a stream of the inbox', () => {
  test('whose reader is behind checks admission again for a notice that came during a check', async () => {
    const { reads, sent, ends, wake } = await openStream()
    reads[1]?.resolve(pageOf(message(1)))
    await settled()
    expect(sent).toHaveLength(1)
    wake()
    expect(reads).toHaveLength(3)
    // This check has read the state before the revocation of which the next notices tell.
    wake()
    wake()
    reads[2]?.resolve(undefined)
    await settled()
    expect(reads).toHaveLength(4)
    reads[3]?.reject(new ApiError('credential_revoked'))
    await settled()
    expect(ends).toMatchObject([{ code: 'credential_revoked' }])
    wake()
    await settled()
    expect(reads).toHaveLength(4)
  })

  test('reads again for a notice at any moment of the end of a read', async () => {
    const { reads, wake } = await openStream()
    for (let turns = 0; turns < 20; turns += 1) {
      const count = reads.length
      reads.at(-1)?.resolve(pageOf())
      for (let turn = 0; turn < turns; turn += 1) await undefined
      wake()
      await settled()
      expect([turns, reads.length]).toEqual([turns, count + 1])
    }
  })
})
