/** The reserve file is created, removed and created again. For its effect on a full disk see test/faults. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fastify } from 'fastify'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { loggerOptions } from '../../../server/http/log.ts'
import { makeReserve, reservePath } from '../../../server/storage/reserve-file.ts'
import { openStorage } from '../../../server/storage/storage.ts'

const bytes = 300_000
let data: string

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  data = mkdtempSync(join(tmpdir(), 'bridge-reserve-'))
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(data, { recursive: true, force: true })
})

function open(size = bytes) {
  const lines: { msg: string; state?: string }[] = []
  const logger = loggerOptions('warn', { write: (line) => lines.push(JSON.parse(line)) })
  const { log } = fastify({ logger })
  const storage = openStorage({
    data,
    bytes: size,
    random: randomBytes,
    log,
    stopping: new AbortController().signal,
  })
  let relieved = 0
  storage.onFull(() => {
    relieved += 1
  })
  const watch = (unusedBytes = () => 0) => onTestFinished(storage.watch(unusedBytes))
  return { storage, watch, lines, relieved: () => relieved }
}

const path = () => reservePath(data)
const isWhole = async (of: ReturnType<typeof open>) => {
  vi.advanceTimersByTime(1000)
  await expect.poll(() => of.storage.state).toBe('whole')
}

test('the running server creates the reserve, complete and private, and finds it at the next start', async () => {
  const made = open()
  expect([made.storage.state, existsSync(path())]).toEqual(['lean', false])
  made.watch()
  await isWhole(made)
  expect(statSync(path())).toMatchObject({ size: bytes })
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  expect(statSync(path()).blocks * 512).toBeGreaterThanOrEqual(bytes)
  expect(open().storage.state).toBe('whole')
})

test('on a full disk the node removes the reserve and reports it, repeats the report every minute, and creates it again once there is space', async () => {
  const of = open()
  of.watch()
  await isWhole(of)
  of.storage.noteFull()
  of.storage.noteFull()
  expect([of.storage.state, existsSync(path()), of.relieved()]).toEqual(['full', false, 1])
  await isWhole(of)
  expect(statSync(path()).size).toBe(bytes)
  expect(of.lines.map(({ state }) => state)).toEqual(['full', 'whole'])
})

test('a disk with less free space than a quarter of the reserve counts as full', async () => {
  const of = open(2 ** 50)
  of.watch()
  vi.advanceTimersByTime(1000)
  await expect.poll(() => of.storage.state).toBe('full')
  expect([existsSync(path()), of.relieved()]).toEqual([false, 1])
})

test('another size replaces the reserve, and size 0 removes it', async () => {
  const of = open()
  of.watch()
  await isWhole(of)
  writeFileSync(`${path()}.new`, 'cut off')
  const larger = open(2 * bytes)
  expect([larger.storage.state, existsSync(path()), existsSync(`${path()}.new`)]).toEqual([
    'lean',
    false,
    false,
  ])
  larger.watch()
  await isWhole(larger)
  expect(statSync(path()).size).toBe(2 * bytes)

  const none = open(0)
  none.watch()
  expect([none.storage.state, existsSync(path())]).toEqual(['lean', false])
  none.storage.noteFull()
  expect(none.storage.state).toBe('lean')
})

test('a server that stops while it creates the reserve leaves no part of it', async () => {
  const making = makeReserve({ data, bytes, random: randomBytes }, AbortSignal.abort())
  expect([await making, readdirSync(data)]).toEqual([false, []])
})

test('a disk that fails while the reserve is created leaves no part of it', async () => {
  const random = () => {
    throw new Error('no bytes')
  }
  await expect(makeReserve({ data, bytes, random }, new AbortController().signal)).rejects.toThrow('no bytes')
  expect(readdirSync(data)).toEqual([])
})
