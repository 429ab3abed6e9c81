/** The failures that are retried, for each kind of repeated work: all codes of all three families. */
import { expect, test } from 'vitest'
import { type ErrorCode, errors } from '../../sdk/contract/errors.ts'
import { helperErrors } from '../../sdk/contract/helper/errors.ts'
import {
  BridgeError,
  HelperError,
  isOutcomeUnknown,
  isRefused,
  LocalError,
  type LocalErrorCode,
  localErrors,
} from '../../sdk/transport/failures.ts'
import { isTemporary, type Repeated } from '../../sdk/transport/temporary.ts'

const asked = { method: 'GET', path: '/api/v1/inbox' }
const refusal = (code: ErrorCode) =>
  new BridgeError(asked, errors[code].status, { error: code, message: 'no', request_id: 'r' })
const refusals = (Object.keys(errors) as ErrorCode[]).map(refusal)
const locals = (Object.keys(localErrors) as LocalErrorCode[]).map((code) => new LocalError(code, 'no'))
const helpers = Object.keys(helperErrors).map((code) => new HelperError(asked, 400, code))

const codes = (failures: readonly { readonly code: string }[], of: Repeated) =>
  failures.filter((failure) => isTemporary(failure, of)).map(({ code }) => code)

const stopping = ['unavailable', 'capacity_reached', 'storage_full']
const laterOrUnknown = [
  ...['takeover_pending', 'claim_held', 'transfer_busy', 'project_paused', 'pairing_disabled'],
  ...['rate_limited', 'wait_limit'],
]
const noAnswer = ['unreachable', 'timeout']
const unanswered = [
  ...noAnswer,
  ...['aborted', 'bad_response', 'redirected', 'certificate_refused', 'sandbox_blocked'],
]

const expected: Record<Repeated, readonly [node: string[], machine: string[], helper: string[]]> = {
  'repeatable request': [['rate_limited', ...stopping], ['unreachable'], []],
  'other request': [['rate_limited'], [], []],
  reading: [
    ['request_replayed', 'rate_limited', 'wait_limit', 'conversation_budget', 'internal', ...stopping],
    [...noAnswer, 'bad_response', 'redirected', 'certificate_refused'],
    [],
  ],
  claim: [[...laterOrUnknown, 'internal', ...stopping], unanswered, []],
  'outbox entry': [[...laterOrUnknown, 'internal', 'capacity_reached', 'storage_full'], ['bad_response'], []],
  part: [[...laterOrUnknown, 'internal', ...stopping], noAnswer, ['too_slow', 'internal', 'storage_failed']],
  serving: [stopping, noAnswer, []],
  endpoint: [[], ['transfer_expired'], ['invalid_token', 'expired']],
  helper: [stopping, noAnswer, []],
  tunnel: [[], [...noAnswer, 'bad_response'], []],
}

test.each(Object.entries(expected))(
  'for %s exactly these failures are retried',
  (of, [node, machine, helper]) => {
    const kind = of as Repeated
    expect([codes(refusals, kind), codes(locals, kind), codes(helpers, kind)]).toEqual([
      node,
      machine,
      helper,
    ])
    expect(isTemporary(new TypeError('a bug'), kind)).toBe(false)
    expect(isTemporary(new HelperError(asked, 503, 'of_a_newer_helper'), kind)).toBe(false)
  },
)

test('a failure is a refusal, of unknown outcome, or local', () => {
  const all = [...refusals, ...locals]
  expect(all.filter((each) => isRefused(each) && isOutcomeUnknown(each))).toEqual([])
  expect(refusals.filter((each) => !isRefused(each)).map(({ code }) => code)).toEqual([
    'internal',
    ...stopping,
  ])
  expect(locals.filter(isOutcomeUnknown).map(({ code }) => code)).toEqual(unanswered)
  expect(locals.filter(isRefused).map(({ code }) => code)).toEqual(['peer_unknown'])
})
