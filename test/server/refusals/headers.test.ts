/**
 * Headers that are missing, malformed or duplicated.
 *
 * "Each at most once in the raw header list." Contract §3, interface §4.1, reliability T13, T29.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import { type ErrorCode, errors } from '../../../sdk/contract/errors.ts'
import { rowsAt } from '../../support/attacks.ts'
import { TestOwner } from '../../support/owner.ts'
import { exchange, requestText } from '../../support/raw-client.ts'
import { unknownId } from '../endpoints/case.ts'
import { type Ready, targetOf } from '../endpoints/send.ts'
import { type Attempt, Attempts, answering, named } from './attempts.ts'

let attempts: Attempts

beforeAll(async () => {
  attempts = await Attempts.start()
})
afterAll(() => attempts.close())

/** The name of the change, the changed request, the code, and the path of the fault. */
type Row = readonly [what: string, changed: Partial<Ready>, code: ErrorCode, path?: string]

const secret = 'A'.repeat(43)
const credential = `AgentKey ${unknownId}`

const identityRows: readonly Row[] = [
  ['no Authorization', { override: { Authorization: null } }, 'unauthenticated'],
  ['Authorization twice', { extra: [['Authorization', credential]] }, 'unauthenticated'],
  ['another scheme', { override: { Authorization: `Bearer ${unknownId}` } }, 'unauthenticated'],
  ['a scheme in lower case', { override: { Authorization: `agentkey ${unknownId}` } }, 'unauthenticated'],
  ['an id in upper case', { override: { Authorization: credential.toUpperCase() } }, 'unauthenticated'],
  ['more after the id', { override: { Authorization: `${credential} x` } }, 'unauthenticated'],
  ['a short secret', { override: { Authorization: `${credential}.${secret.slice(1)}` } }, 'unauthenticated'],
  ['an unknown id', { override: { Authorization: credential } }, 'credential_unknown'],
  ['no time', { override: { 'X-Bridge-Time': null } }, 'signature_required'],
  ['a time of letters', { override: { 'X-Bridge-Time': 'now' } }, 'signature_required'],
  ['a time in milliseconds', { override: { 'X-Bridge-Time': '1700000000000' } }, 'signature_required'],
  ['the time twice', { extra: [['X-Bridge-Time', '1700000000']] }, 'unauthenticated'],
  ['no nonce', { override: { 'X-Bridge-Nonce': null } }, 'signature_required'],
  ['a short nonce', { override: { 'X-Bridge-Nonce': 'A'.repeat(21) } }, 'signature_required'],
  ['a long nonce', { override: { 'X-Bridge-Nonce': 'A'.repeat(65) } }, 'signature_required'],
  ['a padded nonce', { override: { 'X-Bridge-Nonce': `${'A'.repeat(22)}==` } }, 'signature_required'],
  ['the nonce twice', { extra: [['X-Bridge-Nonce', 'A'.repeat(22)]] }, 'unauthenticated'],
  ['no proof', { override: { 'X-Bridge-Proof': null } }, 'signature_required'],
  ['a short proof', { override: { 'X-Bridge-Proof': 'A'.repeat(85) } }, 'signature_required'],
  ['a padded proof', { override: { 'X-Bridge-Proof': `${'A'.repeat(86)}==` } }, 'signature_required'],
  ['a proof with stray bits', { override: { 'X-Bridge-Proof': `${'A'.repeat(85)}B` } }, 'signature_required'],
  ['the proof of nothing', { override: { 'X-Bridge-Proof': 'A'.repeat(86) } }, 'signature_invalid'],
  ['the proof twice', { extra: [['X-Bridge-Proof', 'A'.repeat(86)]] }, 'unauthenticated'],
  ['a device that is not enrolled', { override: { 'X-Bridge-Device': '{}' } }, 'device_mismatch'],
  [
    'Origin twice',
    {
      extra: [
        ['Origin', 'a:'],
        ['Origin', 'a:'],
      ],
    },
    'invalid_request',
    'header origin',
  ],
]

const sessionPath = 'header X-Bridge-Session'
const sessionRows: readonly Row[] = [
  ['no session', { session: null }, 'invalid_request', sessionPath],
  ['a session that is not an id', { override: { 'X-Bridge-Session': '-' } }, 'invalid_request', sessionPath],
  ['a session in upper case', { session: unknownId.replace('0', 'A') }, 'invalid_request', sessionPath],
  ['the session twice', { extra: [['X-Bridge-Session', unknownId]] }, 'unauthenticated'],
  [
    'another session than the signed one',
    { override: { 'X-Bridge-Session': unknownId } },
    'signature_invalid',
  ],
  ['an unknown session', { session: unknownId }, 'session_unknown'],
]

const keyPath = 'header Idempotency-Key'
const badKeys = ['a'.repeat(7), 'a'.repeat(129), 'with a space', 'ümlaut-key', '-', 'comma,comma', '']
const keyRows: readonly Row[] = [
  ['no key', { key: null }, 'invalid_request', keyPath],
  ...badKeys.map(
    (key): Row => [`the key "${key}"`, { override: { 'Idempotency-Key': key } }, 'invalid_request', keyPath],
  ),
  ['the key twice', { extra: [['Idempotency-Key', 'a'.repeat(8)]] }, 'invalid_request', keyPath],
]

const cookie = 'bridge_owner_dev'
const ownerRows = (own: string): readonly Row[] => [
  ['no cookie', { override: { Cookie: null } }, 'owner_session_expired'],
  ['an empty cookie', { override: { Cookie: `${cookie}=` } }, 'owner_session_expired'],
  ['an unknown cookie', { override: { Cookie: `${cookie}=${secret}` } }, 'owner_session_expired'],
  ['the cookie twice in one line', { override: { Cookie: `${own}; ${own}` } }, 'owner_session_expired'],
  [
    'the cookie beside an unknown one',
    { override: { Cookie: `${cookie}=x; ${own}` } },
    'owner_session_expired',
  ],
  [
    'the cookie by its other name',
    { override: { Cookie: own.replace(cookie, '__Host-bridge_owner') } },
    'owner_session_expired',
  ],
  ['the cookie in upper case', { override: { Cookie: own.toUpperCase() } }, 'owner_session_expired'],
  ['from another site', { extra: [['Sec-Fetch-Site', 'cross-site']] }, 'origin_mismatch'],
]

function attempt(entry: EndpointSpec, [what, changed, code, path]: Row): Attempt {
  const good = attempts.ready(entry)
  const ready = { ...good, ...changed, extra: [...(good.extra ?? []), ...(changed.extra ?? [])] }
  return { what, ready, code, ...(path !== undefined && { path }) }
}

const those = (which: (entry: EndpointSpec) => boolean | undefined) => named(answering.filter(which))

const agents = those(({ caller }) => caller === 'agent' || caller === 'agent-without-session')
const owners = those(({ caller }) => caller === 'owner')

test.each(agents)('$id requires exactly one identity and one proof', async ({ entry, place }) => {
  await attempts.expectRefused(
    entry,
    rowsAt(place, 4, identityRows).map((row) => attempt(entry, row)),
  )
})

test.each(those(({ caller }) => caller === 'agent'))(
  '$id requires exactly one session',
  async ({ entry, place }) => {
    await attempts.expectRefused(
      entry,
      rowsAt(place, 3, sessionRows).map((row) => attempt(entry, row)),
    )
  },
)

test.each(those(({ idempotent }) => idempotent))(
  '$id requires exactly one Idempotency-Key',
  async ({ entry, place }) => {
    await attempts.expectRefused(
      entry,
      rowsAt(place, 3, keyRows).map((row) => attempt(entry, row)),
    )
  },
)

test.each(owners)('$id requires exactly one cookie', async ({ entry, place }) => {
  const rows = rowsAt(place, 3, ownerRows(ownerOf(entry).cookie))
  await attempts.expectRefused(
    entry,
    rows.map((row) => attempt(entry, row)),
  )
})

test.each(owners)('$id refuses a second Cookie line', async ({ entry }) => {
  const { baseUrl, cookie } = ownerOf(entry)
  const headers = [
    ['Cookie', cookie],
    ['Cookie', 'theme=dark'],
    ['Origin', baseUrl],
  ] as const
  const target = targetOf(entry, attempts.ready(entry))
  const replies = await exchange(baseUrl, requestText({ method: entry.method, target, headers }))
  expect(replies).toMatchObject([{ status: errors.invalid_request.status }])
  expect(JSON.parse(replies[0]?.body ?? '')).toMatchObject({
    error: 'invalid_request',
    details: { faults: [{ path: 'header cookie' }] },
  })
})

function ownerOf(entry: EndpointSpec): TestOwner {
  const { by } = attempts.ready(entry)
  if (by instanceof TestOwner) return by
  throw new Error('an owner endpoint is asked by an owner')
}
