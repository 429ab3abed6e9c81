/**
 * Bodies that are refused before any field is read: size, content type, text, JSON.
 *
 * Contract §1, §2, reliability T27, T39.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../sdk/contract/index.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import { rowsAt } from '../../support/attacks.ts'
import type { Ready } from '../endpoints/send.ts'
import { type Attempt, Attempts, named, withBody } from './attempts.ts'

let attempts: Attempts

beforeAll(async () => {
  attempts = await Attempts.start(withBody)
})
afterAll(() => attempts.close())

/** Changes of the JSON text of a valid body. */
const texts: Record<string, { readonly change: (good: string) => string | Buffer; readonly says: RegExp }> = {
  'an empty body': { change: () => '', says: /is not valid JSON/ },
  'cut off': { change: (good) => good.slice(0, -1), says: /is not valid JSON/ },
  'followed by more': { change: (good) => `${good} {}`, says: /is not valid JSON/ },
  'in single quotes': { change: () => "{'a': 1}", says: /is not valid JSON/ },
  'with a comment': { change: (good) => `/* */ ${good}`, says: /is not valid JSON/ },
  'with a trailing comma': { change: () => '{"a": 1,}', says: /is not valid JSON/ },
  'with a byte order mark': { change: (good) => `\ufeff${good}`, says: /is not valid JSON/ },
  'with a number that JSON does not have': { change: () => '{"a": NaN}', says: /is not valid JSON/ },
  'in UTF-16': { change: (good) => Buffer.from(good, 'utf16le'), says: /is not valid JSON/ },
  'with a byte that is invalid in UTF-8': {
    change: () => Buffer.from('{"a":"\xff"}', 'latin1'),
    says: /not valid UTF-8/,
  },
  'with an overlong encoding': {
    change: () => Buffer.from('{"a":"\xc0\xaf"}', 'latin1'),
    says: /not valid UTF-8/,
  },
  'with a surrogate in UTF-8': {
    change: () => Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'),
    says: /not valid UTF-8/,
  },
  'a list': { change: (good) => `[${good}]`, says: /must be object/ },
  'a text': { change: (good) => JSON.stringify(good), says: /must be object/ },
  'a number': { change: () => '1', says: /must be object/ },
  null: { change: () => 'null', says: /must be object/ },
  'with a field twice': { change: () => '{"a": 1, "\\u0061": 1}', says: /"a" twice/ },
  'with a field twice, deep inside': { change: () => '{"a": [{"b": {}, "b": {}}]}', says: /"b" twice/ },
  'nested too deep': {
    change: () => `{"a":${'['.repeat(limits.jsonDepth)}${']'.repeat(limits.jsonDepth)}}`,
    says: /nested deeper than 32/,
  },
  'a hundred thousand brackets': { change: () => '['.repeat(100_000), says: /is not valid JSON/ },
  'a hundred thousand closed brackets': {
    change: () => '['.repeat(100_000) + ']'.repeat(100_000),
    says: /nested deeper than 32/,
  },
}

const contentTypes: Record<string, string | null> = {
  absent: null,
  empty: '',
  'of a form': 'application/x-www-form-urlencoded',
  'of a form with files': 'multipart/form-data; boundary=x',
  'plain text': 'text/plain',
  'JSON as text': 'text/json',
  'nearly JSON': 'application/json5',
  'JSON in Latin-1': 'application/json; charset=iso-8859-1',
  'JSON and more': 'application/json, text/plain',
  'a suffix of JSON': 'application/problem+json',
  'no media type': 'json',
}

const tooLong = ' '.repeat(limits.jsonBodyBytes)

describe.each(named(withBody))('$id', ({ entry, place }) => {
  const good = () => {
    const ready = attempts.ready(entry)
    return { ready, text: JSON.stringify(ready.body) }
  }
  const refused = (
    what: string,
    changed: Partial<Ready>,
    rest: Omit<Attempt, 'what' | 'ready'>,
  ): Attempt => ({
    what,
    ready: { ...attempts.ready(entry), ...changed },
    ...rest,
  })

  test('refuses text that is not one JSON object', async () => {
    const all = rowsAt(place, 7, Object.entries(texts)).map(([what, { change, says }]) =>
      refused(what, { body: change(good().text) }, { code: 'invalid_request', path: 'body', says }),
    )
    await attempts.expectRefused(entry, all)
  })

  test('refuses any other content type than JSON, with that reason', async () => {
    const all = rowsAt(place, 7, Object.entries(contentTypes)).map(([what, type]) =>
      refused(
        what,
        { override: { ...good().ready.override, 'Content-Type': type } },
        { code: 'invalid_request', path: 'header content-type', says: /must be application\/json/ },
      ),
    )
    const twice = [...(good().ready.extra ?? []), ['Content-Type', 'application/json'] as const]
    const path = 'header content-type'
    all.push(
      refused('twice', { extra: twice }, { code: 'invalid_request', path, says: /must be sent only once/ }),
    )
    await attempts.expectRefused(entry, all)
  })

  test('refuses an encoded body', async () => {
    const all = rowsAt(place, 5, ['gzip', 'deflate', 'br', 'identity, gzip', 'x-unknown']).map((encoding) =>
      refused(
        encoding,
        { extra: [...(good().ready.extra ?? []), ['Content-Encoding', encoding]] },
        { code: 'invalid_request', path: 'header content-encoding' },
      ),
    )
    await attempts.expectRefused(entry, all)
  })

  test('accepts 256 KiB and refuses one byte more', async () => {
    const { ready, text } = good()
    const exact = `{"surplus":1}${tooLong.slice(13)}`
    const chunked = [...(ready.extra ?? []), ['Transfer-Encoding', 'chunked'] as const]
    const says = /longer than 262144 bytes/
    const all = [
      refused('declared', { body: text + tooLong }, { code: 'body_too_large', says }),
      refused('chunked', { body: text + tooLong, extra: chunked }, { code: 'body_too_large', says }),
      refused('by one byte', { body: `${exact} ` }, { code: 'body_too_large', says }),
      refused('exact', { body: exact }, { code: 'invalid_request', path: 'body/surplus' }),
      refused(
        'exact, chunked',
        { body: exact, extra: chunked },
        { code: 'invalid_request', path: 'body/surplus' },
      ),
    ]
    await attempts.expectRefused(entry, rowsAt(place, 5, all))
  })
})

describe('a body with a hundred thousand faults', () => {
  const bodies = {
    'of a wrong type': `{"message_ids":[${'1,'.repeat(100_000)}1]}`,
    'of malformed ids': `{"message_ids":[${'"a",'.repeat(60_000)}"b"]}`,
    'of unknown fields': `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join()}}`,
    'in one text': JSON.stringify({ message_ids: [`a${' '.repeat(250_000)}`] }),
  }

  test.each(Object.entries(bodies))('%s is refused as quickly as any other', async (_what, body) => {
    const entry = contract.acknowledgements.create
    const started = process.cpuUsage()
    await attempts.expectRefused(entry, [
      { what: 'many', ready: { ...attempts.ready(entry), body }, code: 'invalid_request' },
    ])
    // Processor time of the node and this test, which other processes do not affect.
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(5000)
  })
})
