/** Messages recorded in real files: they are remembered, bounded in number, and intact after a torn write. */
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findRecorded, Journal, type JournalOptions, type Message } from '../../sdk/program.ts'
import { message } from '../support/bridges.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bridge-journal-'))
  path = join(folder, 'profile', 'journal.jsonl')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const clock = () => new Date('2026-01-01T00:00:00.000Z')
const letter = (sequence: number) => message(sequence) as unknown as Message

async function withJournal<T>(
  use: (journal: Journal) => Promise<T>,
  bounds?: JournalOptions['bounds'],
): Promise<T> {
  const journal = await Journal.open({ path, clock, bounds })
  try {
    return await use(journal)
  } finally {
    await journal.close()
  }
}

test('a recorded message is known to the next process, and is one line in a private file', async () => {
  await withJournal((journal) => journal.record([letter(1), letter(2)]))
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { kind: 'message', recorded_at: '2026-01-01T00:00:00.000Z', message: message(1) },
    { kind: 'message', recorded_at: '2026-01-01T00:00:00.000Z', message: message(2) },
  ])
  await withJournal(async (journal) => {
    expect([1, 2, 3].map((sequence) => journal.has(letter(sequence).id))).toEqual([true, true, false])
  })
})

test('recorded and done are separate states', async () => {
  await withJournal(async (journal) => {
    await journal.record([letter(1), letter(2)])
    await journal.recordDone([letter(1).id])
  })
  await withJournal(async (journal) => {
    expect([1, 2].map((sequence) => journal.isDone(letter(sequence).id))).toEqual([true, false])
  })
})

test('a message recorded but neither printed nor done is known, also after a rotation', async () => {
  const bounds = { rotateBytes: 1, rememberedIds: 100 }
  await withJournal(async (journal) => {
    await journal.record([letter(1), letter(2), letter(3), letter(4)])
    await journal.recordPrinted([letter(1).id])
    await journal.recordDone([letter(3).id])
    await journal.record([letter(5)])
  }, bounds)
  await withJournal(async (journal) => {
    expect(journal.isPrinted(letter(1).id)).toBe(true)
    expect(journal.unprinted).toEqual([letter(2).id, letter(4).id, letter(5).id])
  })
})

test('a line torn by a power cut is skipped, and later lines are read', async () => {
  await withJournal((journal) => journal.record([letter(1)]))
  await appendFile(path, '{"kind":"message","message":{"id":"0198')
  await withJournal(async (journal) => {
    expect(journal.has(letter(1).id)).toBe(true)
    await journal.record([letter(2)])
  })
  await withJournal(async (journal) => expect(journal.has(letter(2).id)).toBe(true))
})

test('a full journal starts again with the ids that it remembers, and keeps one old file', async () => {
  const bounds = { rotateBytes: 2000, rememberedIds: 100 }
  const sequences = Array.from({ length: 30 }, (_, index) => index + 1)
  await withJournal(async (journal) => {
    for (const sequence of sequences) await journal.record([letter(sequence)])
    await journal.recordDone([letter(7).id])
  }, bounds)
  expect((await stat(path)).size).toBeLessThan(6000)
  expect((await stat(`${path}.old`)).size).toBeLessThan(6000)
  await withJournal(async (journal) => {
    expect(sequences.every((sequence) => journal.has(letter(sequence).id))).toBe(true)
    expect(journal.isDone(letter(7).id)).toBe(true)
  }, bounds)
})

test('the oldest ids are forgotten first', async () => {
  const bounds = { rotateBytes: 500, rememberedIds: 3 }
  await withJournal(async (journal) => {
    for (const sequence of [1, 2, 3, 4, 5]) await journal.record([letter(sequence)])
    expect([1, 2, 3, 4, 5].filter((sequence) => journal.has(letter(sequence).id))).toEqual([3, 4, 5])
  }, bounds)
  await withJournal(async (journal) => {
    expect([1, 2, 3, 4, 5].filter((sequence) => journal.has(letter(sequence).id))).toEqual([3, 4, 5])
  }, bounds)
})

test.each([
  ['killed before it began the new file', async () => rm(path)],
  ['killed before it wrote the ids', async () => writeFile(path, '')],
  ['stopped by a full disk', async () => writeFile(path, (await readFile(path, 'utf8')).slice(0, 60))],
])('a rotation %s forgets nothing', async (_what, harm) => {
  const bounds = { rotateBytes: 1, rememberedIds: 4 }
  await withJournal(async (journal) => {
    await journal.record([letter(1), letter(2), letter(3)])
    await journal.recordDone([letter(2).id])
    await journal.rotate()
  }, bounds)
  await harm()
  const roomy = { rotateBytes: 10_000, rememberedIds: 4 }
  await withJournal(async (journal) => {
    expect(letters(journal, 1, 2, 3)).toEqual([true, true, true])
    expect(journal.isDone(letter(2).id)).toBe(true)
    await journal.record([letter(4), letter(5)])
  }, roomy)
  await withJournal(async (journal) => {
    // The order of the ids is still that in which they were recorded.
    expect(letters(journal, 1, 2, 3, 4, 5)).toEqual([false, true, true, true, true])
    expect(journal.unprinted).toEqual([letter(3).id, letter(4).id, letter(5).id])
  }, roomy)
})

const letters = (journal: Journal, ...sequences: number[]) =>
  sequences.map((sequence) => journal.has(letter(sequence).id))

test('messages recorded by another process are known after a refresh', async () => {
  await withJournal(async (listening) => {
    await listening.record([letter(1)])
    await withJournal((asking) => asking.record([letter(2)]))
    await listening.record([letter(3)])
    await listening.catchUp()
    expect(letters(listening, 1, 2, 3, 4)).toEqual([true, true, true, false])
    // A line that is still being written does not count.
    const line = JSON.stringify({ kind: 'message', message: letter(4) })
    await appendFile(path, line.slice(0, 40))
    await listening.catchUp()
    expect(letters(listening, 4)).toEqual([false])
    await appendFile(path, `${line.slice(40)}\n`)
    await listening.catchUp()
    expect(letters(listening, 4)).toEqual([true])
  })
})

test('while one process rotates, others only append, and no recorded message is lost', async () => {
  const bounds = { rotateBytes: 2000, rememberedIds: 100 }
  const adding = () => Journal.open({ path, clock, bounds, rotates: false })
  const listening = await Journal.open({ path, clock, bounds })
  const early = await adding()
  for (const sequence of [1, 2, 3, 4, 5, 6]) {
    const asking = await adding()
    await asking.record([letter(sequence)])
    await asking.close()
  }
  await expect(stat(`${path}.old`)).rejects.toMatchObject({ code: 'ENOENT' })
  await listening.record([letter(7)])
  await listening.recordDone([letter(7).id])
  expect((await stat(`${path}.old`)).size).toBeGreaterThan(2000)
  // It was opened before the rotation.
  await early.record([letter(8)])
  await early.close()
  await listening.close()
  await withJournal(async (journal) => {
    expect(letters(journal, 1, 2, 3, 4, 5, 6, 7, 8)).toEqual(Array(8).fill(true))
    expect(journal.isDone(letter(7).id)).toBe(true)
  }, bounds)
})

test('a recorded message is found, in the old file too, and an unrecorded one is not', async () => {
  const bounds = { rotateBytes: 1, rememberedIds: 100 }
  await withJournal(async (journal) => {
    await journal.record([letter(1)])
    await journal.record([letter(2)])
  }, bounds)
  expect(await findRecorded(path, letter(1).id)).toEqual(message(1))
  expect(await findRecorded(path, letter(2).id)).toEqual(message(2))
  expect(await findRecorded(path, letter(3).id)).toBeUndefined()
  expect(await findRecorded(join(folder, 'nowhere.jsonl'), letter(1).id)).toBeUndefined()
})

test('a journal that cannot be written is reported as such', async () => {
  await writeFile(join(folder, 'profile'), 'a file in the place of the folder')
  await expect(withJournal(async () => {})).rejects.toMatchObject({
    name: 'LocalError',
    code: 'storage_failed',
  })
})
