/**
 * Maintenance runs: they distrust jumps of the clock, work in small batches, and one job does not hinder
 * another. Contract §10.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { initServer } from '../../../server/host/init.ts'
import type { Job } from '../../../server/maintenance/job.ts'
import { batchLimits } from '../../../server/maintenance/run.ts'
import { testConfig } from '../../support/config.ts'
import { dropDatabase, makeEmptyDatabase } from '../../support/postgres.ts'
import { tamper } from '../../support/tamper.ts'
import { openUpkeep, type Times } from './upkeep.ts'

let data: string

beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'bridge-upkeep-'))
  await makeEmptyDatabase(data)
  await initServer(testConfig(data, { port: '0' }))
  return async () => {
    await dropDatabase(data)
    await rm(data, { recursive: true, force: true })
  }
})

/** Two clocks that a test moves: `pass` moves both, `jump` only the wall clock. */
function clocks() {
  let wallMs = Date.now()
  let monotonicMs = 1000
  return {
    clock: () => new Date(wallMs),
    monotonicMs: () => monotonicMs,
    pass(days: number) {
      wallMs += days * 86_400_000
      monotonicMs += days * 86_400_000
    },
    jump(days: number) {
      wallMs += days * 86_400_000
    },
  }
}

/** A job that only counts its runs. */
function counting() {
  const runs = { count: 0 }
  const job: Job = {
    name: 'counting',
    begin: () => async () => {
      runs.count += 1
      return { done: 1, more: false }
    },
  }
  return { runs, job }
}

async function opened(times: Times, ...jobs: Job[]) {
  const upkeep = await openUpkeep(data, times, jobs)
  onTestFinished(() => upkeep.close())
  return upkeep
}

test.each([1.1, 400, -1.1, -400])(
  'a clock that jumps by %d days makes maintenance skip exactly one run',
  async (days) => {
    const times = clocks()
    const { runs, job } = counting()
    const upkeep = await opened(times, job)
    expect(await upkeep.cycle()).toMatchObject({ skipped_for_jump_seconds: null, jobs: [{ done: 1 }] })
    times.pass(1 / 24)
    times.jump(days)
    const { skipped_for_jump_seconds: jump, jobs } = await upkeep.cycle()
    expect([jump, jobs]).toEqual([Math.round(days * 86_400), []])
    times.pass(1 / 24)
    expect(await upkeep.cycle()).toMatchObject({ skipped_for_jump_seconds: null })
    expect(runs.count).toBe(2)
  },
)

test('a smaller correction of the clock and the passing of time skip no run', async () => {
  const times = clocks()
  const upkeep = await opened(times, counting().job)
  await upkeep.cycle()
  times.jump(0.9)
  expect(await upkeep.cycle()).toMatchObject({ skipped_for_jump_seconds: null })
  times.pass(30)
  expect(await upkeep.cycle()).toMatchObject({ skipped_for_jump_seconds: null })
})

test('a start uses the time of the last run, so a clock that was wrong at the start removes nothing', async () => {
  const times = clocks()
  const first = await openUpkeep(data, times, [])
  await first.cycle()
  await first.close()
  times.jump(10)
  const { runs, job } = counting()
  const second = await opened(times, job)
  expect(await second.cycle()).toMatchObject({ skipped_for_jump_seconds: 864_000 })
  expect(await second.cycle()).toMatchObject({ skipped_for_jump_seconds: null })
  expect(runs.count).toBe(1)
})

test('if maintenance never ran, the last audit record gives the time', async () => {
  const times = clocks()
  times.jump(3)
  expect(await (await opened(times)).cycle()).toMatchObject({
    skipped_for_jump_seconds: expect.closeTo(259_200, -2),
  })
})

test('a failing job is reported, hinders no other job, and stores nothing of its batch', async () => {
  const failing: Job = {
    name: 'failing',
    begin: () => async (tx) => {
      await tx.db.updateTable('server').set({ server_id: 'gone' }).execute()
      throw new Error('it broke')
    },
  }
  const upkeep = await opened({}, failing, counting().job)
  const { jobs } = await upkeep.cycle()
  expect(jobs).toMatchObject([
    { name: 'failing', done: 0, failure: 'it broke' },
    { name: 'counting', done: 1, failure: null },
  ])
  expect(upkeep.failures).toEqual(['failing'])
  const id = tamper(data, (database) => database.prepare('SELECT server_id FROM server').pluck().get())
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
})

test('batches grow to five hundred rows and shrink if they take long', async () => {
  let now = 0
  const asked: number[] = []
  const job: Job = {
    name: 'measured',
    begin:
      () =>
      async (_tx, { rows }) => {
        asked.push(rows)
        now += asked.length < 8 ? 1 : 15
        return { done: rows, more: asked.length < 12 }
      },
  }
  await (await opened({ monotonicMs: () => now }, job)).cycle()
  expect(asked).toEqual([50, 100, 200, 400, 500, 500, 500, 500, 250, 125, 62, 31])
  expect(Math.max(...asked)).toBe(batchLimits.rows)
})

test('a stopped run ends after its current batch', async () => {
  const upkeep = await opened(
    {},
    {
      name: 'endless',
      begin: () => async () => {
        upkeep.stop()
        return { done: 1, more: true }
      },
    },
  )
  expect(await upkeep.cycle()).toMatchObject({ jobs: [{ done: 1, failure: null }] })
})
