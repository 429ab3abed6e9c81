import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Outbox, readBatch, UnreadableBatchError } from '../../../server/bus/batch.ts'

const filled = (entries: number, maxEntries = 10_000): Outbox => {
  const outbox = new Outbox('node', 8000, maxEntries)
  for (let index = 0; index < entries; index += 1) outbox.add('wake', randomUUID())
  return outbox
}

describe('the payloads of notifications', () => {
  test.each([1, 2, 199, 203, 204, 205, 1000, 5000])('%i agents fit below 8,000 bytes each', (entries) => {
    const payloads = filled(entries).take()
    expect(Math.max(...payloads.map((each) => Buffer.byteLength(each)))).toBeLessThan(8000)
    const read = payloads.flatMap((each) => readBatch(each).entries.wake ?? [])
    expect(new Set(read).size).toBe(entries)
    // A payload is full before the next one begins.
    expect(payloads.length).toBe(Math.ceil(entries / 204))
  })

  test('entries of several topics share a payload, and an equal entry is sent once', () => {
    const outbox = filled(0)
    for (const _ of [1, 2, 3]) outbox.add('wake', 'ada')
    outbox.add('forget', 'credential "ä"')
    outbox.add('receipts', ['ada', [{ message_id: 'm', acknowledged_at: 't' }]])
    outbox.addPing(7)
    expect(outbox.take().map(readBatch)).toEqual([
      {
        from: 'node',
        ping: 7,
        everything: false,
        entries: {
          wake: ['ada'],
          forget: ['credential "ä"'],
          receipts: [['ada', [{ message_id: 'm', acknowledged_at: 't' }]]],
        },
      },
    ])
    expect(outbox.isEmpty).toBe(true)
  })

  test('too many entries, or one that fits no payload, become the word to read everything', () => {
    const outbox = filled(3, 2)
    outbox.add('wake', 'later')
    expect(outbox.take()).toEqual(['1{"from":"node","everything":true}'])
    const long = filled(1)
    long.add('wake', 'x'.repeat(8000))
    expect(long.take().map(readBatch)).toMatchObject([{ everything: true, entries: {} }])
  })

  test('a topic that this program does not know is left out', () => {
    expect(readBatch('1{"from":"newer","wake":["ada"],"moons":["io"]}')).toEqual({
      from: 'newer',
      everything: false,
      entries: { wake: ['ada'] },
    })
  })

  test.each(['', '2{"from":"newer"}', '1', '1{', '1[]', '1null', '1{"wake":["ada"]}', 'hello'])(
    'a payload of another format is refused: %s',
    (payload) => expect(() => readBatch(payload)).toThrow(UnreadableBatchError),
  )
})
