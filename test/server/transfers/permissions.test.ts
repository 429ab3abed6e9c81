/**
 * Requests for the bytes of a package, and for the endpoint of a direct transfer, from every caller without
 * permission.
 *
 * Each is refused with its code before a byte of a body is read, and stored data stays unchanged. Contract
 * §2, §9.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TransferState } from '../../../sdk/contract/agent/transfers.ts'
import { type ErrorCode, errors } from '../../../sdk/contract/errors.ts'
import { enroll, legacyAgent, type TestAgent } from '../../support/agent.ts'
import { eachAttack } from '../../support/attacks.ts'
import { act, look, sha256, told } from '../../support/files.ts'
import { type Pair, startWorld, type World } from '../endpoints/world.ts'
import {
  type Asked,
  askFor,
  bytes,
  deposited,
  expectRefused,
  first,
  knock,
  type Moving,
  moving,
  named,
  operations,
  refused,
  signed,
  token,
  uploaded,
} from './asked.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

describe('the bytes and the endpoint of a transfer', () => {
  let place: Moving
  beforeAll(async () => {
    place = await moving(world)
  })

  test('are refused to a third agent of the project', async () => {
    const cleo = await world.agent(place.project.id)
    await expectRefused(world, place, 'not_found', (asked) => signed(cleo, asked), { invited: true })
  })

  test('are refused to an agent of another project', async () => {
    const dora = await world.agent()
    await expectRefused(world, place, 'not_found', (asked) => signed(dora, asked), { invited: true })
  })

  test("are refused without an identity, with the owner's cookie, and with the token of the helper", async () => {
    await expectRefused(world, place, 'unauthenticated', () => [])
    const origin = ['Origin', world.bridge.url] as const
    await expectRefused(world, place, 'unauthenticated', () => [['Cookie', world.owner.cookie], origin])
    await expectRefused(world, place, 'unauthenticated', () => [['Authorization', `Bearer ${token}`]])
  })

  test("are refused to an agent that names another's credential", async () => {
    const cleo = await world.agent(place.project.id)
    const posing = (asked: Asked, by: TestAgent) =>
      signed(cleo, asked, by.session?.id).map(([name, value]): readonly [string, string] =>
        name === 'Authorization' ? [name, `AgentKey ${by.enrolled.credential_id}`] : [name, value],
      )
    await expectRefused(world, place, 'signature_invalid', posing, { invited: true })
  })

  test('are refused to a proof that was made for another transfer', async () => {
    const other = await moving(world)
    const elsewhere = (asked: Asked, by: TestAgent) =>
      signed(by, { ...asked, target: askFor(world, asked.operation, other).target })
    await expectRefused(world, place, 'signature_invalid', elsewhere, { invited: true })
  })

  test('are refused to a key presented as a secret, and to a wrong secret', async () => {
    const bearing = (secretOf: string) => (asked: Asked, by: TestAgent) =>
      signed(legacyAgent(world.bridge.url, by.enrolled, secretOf, world.bridge.clock), asked, by.session?.id)
    await expectRefused(world, place, 'signature_required', bearing(token))
    const issued = await world.owner.issueLegacy(place.project.id, place.ben.id, {})
    const wrong = (asked: Asked) => {
      const enrolled = { ...place.ben.enrolled, credential_id: issued.credential.id }
      return signed(legacyAgent(world.bridge.url, enrolled, token, world.bridge.clock), asked)
    }
    await expectRefused(world, place, 'credential_unknown', wrong)
  })

  test('are refused to a credential of the right agent without the scope', async () => {
    const limited = async (by: TestAgent) => {
      const fields = { scopes: ['messages', 'tasks'], keep_existing: true }
      const code = await world.owner.enrollmentCode(place.project.id, by.id, fields)
      return enroll(world.bridge.url, code, world.bridge.clock)
    }
    const own = new Map([
      [place.ada, await limited(place.ada)],
      [place.ben, await limited(place.ben)],
    ])
    const asLimited = (asked: Asked, by: TestAgent) => signed(own.get(by) ?? by, asked, by.session?.id)
    await expectRefused(world, place, 'scope_missing', asLimited, { invited: true })
  })

  test('are refused to a used proof', async () => {
    for (const operation of operations) {
      const asked = askFor(world, operation, place)
      const headers = signed(place[operation.side === 'ada' ? 'ada' : 'ben'], asked)
      expect((await knock(asked, headers)).status, named(operation)).toBe(200)
      expect(await knock(asked, headers), named(operation)).toMatchObject(refused('request_replayed'))
    }
  })

  test('are still available to the two sides afterwards', async () => {
    expect(await look(place.ada, place.package)).toMatchObject({ state: 'accepted', receipt: null })
  })
})

describe("a part signed over bytes of the sender's choice is refused by its own fault, before a byte of it is read, when", () => {
  const own = Buffer.alloc(400, 7)
  let place: Moving
  let cleo: TestAgent
  beforeAll(async () => {
    place = await moving(world)
    cleo = await world.agent(place.project.id)
  })

  const put = (by: TestAgent, id: string, index = '0', stated?: string) => {
    const operation = { method: 'PUT', on: 'package', path: `package/parts/${index}`, side: 'ada' } as const
    const asked = { world, operation, target: `/api/v1/transfers/${id}/${operation.path}`, body: own }
    const headers = signed(by, asked).filter(([name]) => stated === undefined || name !== 'X-Content-SHA256')
    return knock(asked, stated === undefined ? headers : [...headers, ['X-Content-SHA256', stated]])
  }
  const refusal = (code: ErrorCode) => ({ ...refused(code), invited: false })

  test('the sender signs other bytes than it offered', async () => {
    expect(await put(place.ada, place.package)).toEqual(refusal('part_mismatch'))
  })

  test('the recipient uploads', async () => {
    expect(await put(place.ben, place.package)).toEqual(refusal('not_permitted'))
  })

  test('a third agent uploads', async () => {
    expect(await put(cleo, place.package)).toEqual(refusal('not_found'))
    expect(await put(cleo, place.direct)).toEqual(refusal('not_found'))
  })

  test('the offer has no such part', async () => {
    expect(await put(place.ada, place.package, '2')).toEqual(refusal('not_found'))
  })

  test('the transfer is direct', async () => {
    expect(await put(place.ada, place.direct)).toEqual(refusal('state_conflict'))
  })

  test('the transfer has ended', async () => {
    const over = await uploaded(place)
    await act(place.ada, over.id, 'cancel')
    expect(await put(place.ada, over.id)).toEqual(refusal('state_conflict'))
  })

  test('the stated hash is not the signed one', async () => {
    const manifest = sha256(first)
    expect(await put(place.ada, place.package, '0', manifest)).toEqual(refusal('signature_invalid'))
    expect(await put(cleo, place.package, '0', manifest)).toEqual(refusal('signature_invalid'))
  })

  test.each(['', 'x', sha256(own).toUpperCase(), `${sha256(own)}0`])(
    'the stated hash is %j, which is not a hash',
    async (stated) => {
      expect(await put(place.ada, place.package, '0', stated)).toEqual(refusal('invalid_request'))
    },
  )
})

eachAttack<[ErrorCode, (place: Moving, by: TestAgent) => Promise<unknown>]>(
  3,
  [
    [
      'session_fenced',
      async ({ project }, by) => {
        await world.setAgent(project.id, by.id, 'disabled')
        await world.setAgent(project.id, by.id, 'enabled')
      },
    ],
    ['session_closed', (_, by) => by.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })],
    ['agent_disabled', ({ project }, by) => world.setAgent(project.id, by.id, 'disabled')],
    ['credential_revoked', ({ project }, by) => world.owner.revoke(project.id, by.enrolled.credential_id)],
  ],
  (code) => `a party is refused with ${code} though the transfer is its own`,
  async (code, lose) => {
    const place = await moving(world)
    await lose(place, place.ada)
    await lose(place, place.ben)
    const isBeforeBody = code === 'credential_revoked'
    await expectRefused(world, place, code, (asked, by) => signed(by, asked), { invited: !isBeforeBody })
  },
)

test('an agent with the session of another agent is refused', async () => {
  const place = await moving(world)
  const { session } = await world.agent(place.project.id)
  const astray = (asked: Asked, by: TestAgent) => signed(by, asked, session?.id)
  await expectRefused(world, place, 'session_unknown', astray, { invited: true })
})

type Answer = ErrorCode | 'yes'

/**
 * For each state, the answers to the sender and the recipient at each operation, in the order of the
 * operations.
 */
const matrix: Record<TransferState, Record<'ada' | 'ben', readonly Answer[]>> = {
  accepted: {
    ada: ['yes', 'not_permitted', 'not_permitted', 'yes', 'yes', 'yes', 'not_permitted'],
    ben: ['yes', 'yes', 'yes', 'not_permitted', 'not_permitted', 'not_permitted', 'yes'],
  },
  offered: {
    ada: ['yes', 'not_permitted', 'not_permitted', 'yes', 'yes', 'yes', 'state_conflict'],
    ben: [
      'yes',
      'state_conflict',
      'state_conflict',
      'not_permitted',
      'not_permitted',
      'not_permitted',
      'state_conflict',
    ],
  },
  cancelled: over('state_conflict'),
  verified: over('state_conflict', 'package_removed'),
  declined: over('state_conflict'),
  failed: over('state_conflict'),
  expired: over('offer_expired'),
}

/**
 * An agent without permission gets that refusal in any state; the other agent gets the state. The endpoint is
 * deleted in every final state.
 */
function over(code: ErrorCode, bytesGone: ErrorCode = code): Record<'ada' | 'ben', readonly Answer[]> {
  const no = 'not_permitted' as const
  const gone = 'offer_expired' as const
  return {
    ada: [bytesGone, no, no, code, code, gone, gone],
    ben: [bytesGone, bytesGone, bytesGone, no, no, no, gone],
  }
}

const ways: Record<TransferState, readonly [by: 'ada' | 'ben', verb: string][]> = {
  offered: [],
  accepted: [['ben', 'accept']],
  verified: [
    ['ben', 'accept'],
    ['ben', 'receipt'],
  ],
  declined: [['ben', 'decline']],
  cancelled: [['ada', 'cancel']],
  failed: [
    ['ben', 'accept'],
    ['ada', 'fail'],
  ],
  expired: [['ben', 'accept']],
}

describe('a transfer answers each side at every operation as in the table when it is', () => {
  let pair: Pair
  beforeAll(async () => {
    pair = await world.pair()
  })

  // Expired is last, because the clock does not go back.
  const states = Object.keys(matrix) as TransferState[]
  eachAttack(
    3,
    states.map((state) => [state] as [TransferState]),
    (state) => state,
    async (state) => {
      const fields = { ttl_seconds: 60 }
      const place: Moving = {
        ...pair,
        package: (await uploaded(pair, fields)).id,
        direct: (await deposited(world, pair, fields)).id,
      }
      for (const id of [place.package, place.direct])
        for (const [by, verb] of ways[state]) {
          const body = verb === 'receipt' ? { size: bytes.length, sha256: sha256(bytes) } : {}
          expect(told(await act(place[by], id, verb, body)), verb).toEqual([200, undefined])
        }
      if (state === 'expired') world.bridge.clock.advance(61)
      for (const side of ['ada', 'ben'] as const)
        for (const [at, operation] of operations.entries()) {
          const asked = askFor(world, operation, place)
          const { status, error } = await knock(asked, signed(place[side], asked))
          const expected = matrix[state][side][at] ?? 'yes'
          const wanted = expected === 'yes' ? 200 : errors[expected].status
          expect([side, named(operation), status, error ?? 'yes']).toEqual([
            side,
            named(operation),
            wanted,
            expected,
          ])
        }
    },
  )
})
