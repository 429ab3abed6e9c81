/**
 * Sends real requests to each endpoint: a success, and one request for every code in its `errors`.
 *
 * A 200 has exactly the fields that the contract declares; a refusal is exactly an Error. Each change is in
 * the audit log once, and the log has no other record.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ErrorCode } from '../../../sdk/contract/errors.ts'
import { type EndpointId, endpoints } from '../../../sdk/contract/index.ts'
import { codesOf, expectRefusal, expectSuccess } from './answers.ts'
import type { CaseOf, Make } from './case.ts'
import { cases } from './cases.ts'
import { expectRecorded } from './recorded.ts'
import { send } from './send.ts'
import { startWorld, type World } from './world.ts'

let world: World

/** A map from endpoint to the outcomes that were recorded. */
const recorded = new Map<string, string[]>()

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

for (const entry of endpoints) {
  const { success, also = {}, refusals } = cases[entry.id as EndpointId] as Partial<CaseOf<ErrorCode>>

  const ask = async (make: Make, outcome: string, special = outcome) => {
    const made = await make(world)
    const reply = 'status' in made ? made : await send(entry, made)
    expectRecorded(world, entry, 'status' in made ? undefined : made, reply, special)
    recorded.set(entry.id, [...(recorded.get(entry.id) ?? []), outcome])
    return reply
  }

  describe(entry.id, () => {
    if (success !== undefined) {
      test('answers as declared', async () => {
        expectSuccess(entry, await ask(success, 'success'))
      })
    }

    for (const [special, make] of Object.entries(also)) {
      test(`answers as declared ${special}`, async () => {
        expectSuccess(entry, await ask(make, 'success', special))
      })
    }

    for (const [code, make] of Object.entries(refusals ?? {}) as [ErrorCode, Make][]) {
      test(`refuses with ${code}`, async () => {
        expect(codesOf(entry)).toContain(code)
        expectRefusal(await ask(make, code), code)
      })
    }
  })
}

test('every declared outcome of the contract was requested', () => {
  for (const { id, errors, stream } of endpoints) {
    const success = stream ? [] : ['success']
    expect([id, ...new Set(recorded.get(id))].sort()).toEqual([id, ...success, ...new Set(errors)].sort())
  }
})
