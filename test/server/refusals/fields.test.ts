/**
 * Fields that violate their schema: unknown, missing, of a wrong type, too long, out of range, malformed.
 *
 * "An unknown field, a wrong type, an over-long value is 422 with the path of each fault." Contract §1.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rowsAt } from '../../support/attacks.ts'
import { Attempts, named, withBody } from './attempts.ts'
import { type BadField, badFields, type Schema } from './fields.ts'

let attempts: Attempts

beforeAll(async () => {
  attempts = await Attempts.start(withBody)
})
afterAll(() => attempts.close())

describe.each(named(withBody))('$id', ({ entry, place }) => {
  const refused = ({ what, body, path }: BadField) => ({
    what,
    ready: { ...attempts.ready(entry), body },
    code: 'invalid_request' as const,
    path,
  })

  test('names the field that violates its rule', async () => {
    const good = attempts.ready(entry).body
    await attempts.expectRefused(entry, rowsAt(place, 4, badFields(entry.body as Schema, good)).map(refused))
  })

  test("treats names of JavaScript's prototype as unknown fields", async () => {
    const text = JSON.stringify(attempts.ready(entry).body).slice(1)
    const poisoned = ['__proto__', 'constructor', 'toString'].map((name) => ({
      what: name,
      body: `{"${name}":{"polluted":true}${text === '}' ? '' : ','}${text}`,
      path: `body/${name}`,
    }))
    await attempts.expectRefused(entry, poisoned.map(refused))
    expect(({} as { polluted?: true }).polluted).toBeUndefined()
  })

  test('names every fault of a body with several', async () => {
    const body = { ...(attempts.ready(entry).body as object), surplus: 1, another: 2 }
    const says = (path: string) => refused({ what: path, body, path })
    await attempts.expectRefused(entry, [says('body/surplus'), says('body/another')])
  })

  // Built by the same code as the bodies of every other file here.
  test('accepts the unchanged body', async () => {
    await attempts.expectAccepted(entry)
  })
})
