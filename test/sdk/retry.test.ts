import { expect, test } from 'vitest'
import type { ErrorCode } from '../../sdk/contract/errors.ts'
import { BridgeError, LocalError } from '../../sdk/transport/failures.ts'
import { backoff, pauses, retryDelay, retryLimits } from '../../sdk/transport/retry.ts'

const asked = { method: 'POST', path: '/api/v1/messages' }
const refusal = (status: number, error: ErrorCode, retry_after_ms?: number) =>
  new BridgeError(asked, status, {
    error,
    message: 'no',
    request_id: 'r',
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  })
const away = new LocalError('unreachable', 'away')
const delay = (failure: unknown, { attempt = 1, repeatable = true, jitter = 0 } = {}) =>
  retryDelay({ attempt, repeatable, failure, jitter })

test('a repeatable request is retried with growing pauses if the node is unreachable', () => {
  expect([1, 2, 3].map((attempt) => delay(away, { attempt, jitter: 0.999999 }))).toEqual([
    expect.closeTo(200, 0),
    expect.closeTo(400, 0),
    expect.closeTo(800, 0),
  ])
  expect(delay(away, { jitter: 0 })).toBe(100)
})

test('a request that may have taken effect is not repeated without a key', () => {
  expect(delay(away, { repeatable: false })).toBeUndefined()
  expect(delay(refusal(503, 'unavailable'), { repeatable: false })).toBeUndefined()
})

test.each([
  ['a recipient waits for an upload', 'uploadPending', 5000],
  ['a part whose connection broke waits for the node', 'partBroken', 4000],
] as const)('%s at most a quarter longer than needed', (_, name, longestMs) => {
  const waits = Array.from({ length: 20 }, (_, index) => backoff(index + 1, pauses[name]))
  const before = (index: number) => waits.slice(0, index).reduce((sum, each) => sum + each, 0)
  for (const [index, ms] of waits.entries())
    expect(ms).toBeLessThanOrEqual(pauses[name].firstMs + before(index) / 4)
  expect([waits[0], waits[19]]).toEqual([250, longestMs])
})

test('the number of attempts is limited', () => {
  expect(delay(away, { attempt: retryLimits.attempts - 1 })).toBeDefined()
  expect(delay(away, { attempt: retryLimits.attempts })).toBeUndefined()
})

test('a 503 pauses at least as long as it requests, but not beyond the longest pause', () => {
  expect(delay(refusal(503, 'unavailable', 3000))).toBe(3000)
  expect(delay(refusal(503, 'capacity_reached', retryLimits.longestMs))).toBe(retryLimits.longestMs)
  expect(delay(refusal(503, 'unavailable', retryLimits.longestMs + 1))).toBeUndefined()
})

test('a request refused by its rate had no effect, so any request is retried after the requested delay', () => {
  expect(delay(refusal(429, 'rate_limited', 500), { repeatable: false })).toBe(500)
  expect(delay(refusal(429, 'rate_limited'))).toBeUndefined()
})

test.each([
  refusal(401, 'credential_revoked'),
  refusal(401, 'clock_skew'),
  refusal(409, 'session_fenced'),
  refusal(409, 'project_paused'),
  refusal(429, 'conversation_budget', 10),
  refusal(429, 'wait_limit', 10),
  refusal(500, 'internal'),
  new LocalError('timeout', 'slow'),
  new LocalError('aborted', 'enough'),
  new LocalError('bad_response', 'html'),
  new LocalError('redirected', 'elsewhere'),
  new LocalError('certificate_refused', 'whose?'),
  new LocalError('sandbox_blocked', 'no'),
  new TypeError('a bug'),
])('%s is reported immediately', (failure) => {
  expect(delay(failure)).toBeUndefined()
})
