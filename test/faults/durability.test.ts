/**
 * "Kill the server with SIGKILL at random under at least 32 writers": no acknowledged write is missing.
 *
 * BRIDGE_KILLS=1000 kills more often than the default of six times, BRIDGE_SEED repeats a run that failed.
 */
import { expect, test } from 'vitest'
import { isOnPostgres } from '../support/postgres.ts'
import type { ServerProcess } from '../support/process.ts'
import { atRandom, forgotten, killRepeatedly } from './lab/kills.ts'
import { taskOps } from './lab/task-effects.ts'

const kills = Number(process.env.BRIDGE_KILLS ?? 6)
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const writers = 32
const others = ['send', 'ack', 'inbox', 'history', 'start', 'close'] as const
/** A stop is confirmed only if a task was cancelled while it was held, which happens at random. */
const expected = [...others, ...taskOps].filter((op) => op !== 'task.stopped')
/** Enough answers for each kind of operation, however few rounds there are. */
const answers = Math.max(50, Math.ceil(1000 / kills))

test(`${kills} kills under ${writers} writers lose no answered write (seed ${seed})`, {
  timeout: 300_000 + kills * 20_000,
}, async () => {
  const { wrong, operations } = await killRepeatedly({
    strikes: atRandom(kills, seed),
    writers,
    seed,
    answers,
    kinds: expected,
  })
  expect(wrong).toEqual([])

  const answered = operations.filter(({ outcome }) => outcome === 'ok')
  const sends = answered.filter(({ op }) => op === 'send')
  const repeated = Map.groupBy(sends, ({ client, key }) => `${client} ${key}`).values()
  expect(new Set(answered.map(({ client }) => client)).size).toBe(writers)
  expect(new Set(operations.map(({ op }) => op))).toEqual(new Set([...others, ...taskOps]))
  expect([...new Set(answered.map(({ op }) => op))]).toEqual(expect.arrayContaining(expected))
  expect(sends.length).toBeGreaterThan(kills * 10)
  expect(operations.filter(({ outcome }) => outcome === 'info').length).toBeGreaterThan(kills)
  expect([...repeated].filter((all) => all.length > 1).length).toBeGreaterThan(kills / 2)
})

test('the check detects a server that answers before it commits', async () => {
  // Kills immediately after an answer, because a later kill may find the commit done. The number of earlier
  // answers depends on the machine.
  const atOnce = Array.from({ length: 3 }, () => (server: ServerProcess) => server.kill('SIGKILL'))
  const rules = new Set<string | undefined>()
  const isDetected = () => rules.has('sendsAreStoredOnce') || rules.has(forgotten)
  for (let tries = 0; tries < 5 && !isDetected(); tries += 1) {
    const options = { strikes: atOnce, writers, seed: seed + tries, answers: 50 }
    const broken = killRepeatedly({ ...options, control: 'answers-before-commit' })
    const { wrong } = await broken.catch(refusedToServe)
    for (const sentence of wrong) rules.add(sentence.split(':')[0])
  }
  expect([...rules, isDetected()]).toContain(true)
})

/** On PostgreSQL the server may notice the loss before the check does. */
function refusedToServe(error: unknown): { readonly wrong: string[] } {
  if (isOnPostgres && String(error).includes(`"type":"${forgotten}"`)) return { wrong: [forgotten] }
  throw error
}
