/** The state table of a transfer, cell by cell, against the text of contract §9. */
import { describe, expect, test } from 'vitest'
import {
  finalTransferStates,
  type TransferState,
  transferStates,
} from '../../../sdk/contract/agent/transfers.ts'
import { decide, type TransferEvent, transferEvents } from '../../../server/transfers/rules.ts'

/** The result of each pair: a state, `same` if it has already happened, or the refusal. */
const expected: Record<TransferState, Record<TransferEvent, string>> = {
  offered: {
    accept: 'accepted',
    decline: 'declined',
    receipt: 'state_conflict',
    fail: 'state_conflict',
    cancel: 'cancelled',
    cleanup: 'state_conflict',
    expire: 'expired',
  },
  accepted: {
    accept: 'same',
    decline: 'state_conflict',
    receipt: 'verified',
    fail: 'failed',
    cancel: 'cancelled',
    cleanup: 'state_conflict',
    expire: 'expired',
  },
  verified: all('state_conflict', { receipt: 'same' }),
  declined: all('state_conflict', { decline: 'same' }),
  failed: all('state_conflict', { fail: 'same' }),
  cancelled: all('state_conflict', { cancel: 'same' }),
  expired: all('offer_expired'),
}

/** A final state: cleanup is recorded, and no expiry applies. */
function all(
  refusal: string,
  more: Partial<Record<TransferEvent, string>> = {},
): Record<TransferEvent, string> {
  const row = Object.fromEntries(transferEvents.map((event) => [event, refusal]))
  return { ...row, cleanup: 'same', expire: 'a bug', ...more } as Record<TransferEvent, string>
}

function outcome(state: TransferState, event: TransferEvent): string {
  try {
    return decide(state, event) ?? 'same'
  } catch (error) {
    return (error as { code?: string }).code ?? 'a bug'
  }
}

describe.each(transferStates)('a transfer that is %s', (state) => {
  test.each(transferEvents)('handles the event %s as in the table', (event) => {
    expect(outcome(state, event)).toBe(expected[state][event])
  })
})

test('five states are final', () => {
  const final = ['verified', 'declined', 'failed', 'cancelled', 'expired']
  expect([...finalTransferStates]).toEqual(final)
  expect(transferStates.filter((state) => outcome(state, 'expire') === 'a bug')).toEqual(final)
})
