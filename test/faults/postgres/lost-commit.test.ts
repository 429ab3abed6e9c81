/**
 * A COMMIT whose answer is lost, and a database that does not answer. The node never believes a transaction
 * number that a crashed server may have given to another transaction. Each wait has a limit.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isTrouble, PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { fateOf, Link } from '../../../server/database/postgres/link.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'

const limits = { connectWithinMs: 300, answerWithinMs: 500 }
const monotonicMs = () => performance.now()
const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

describe.skipIf(!hasPostgres)('a connection to PostgreSQL', () => {
  let cluster: Cluster

  beforeAll(async () => {
    // The WAL writer must not store the beginning of a transaction.
    cluster = await Cluster.start(['wal_writer_delay = 10s', 'bgwriter_delay = 10s'])
  })
  afterAll(() => cluster?.close())

  /** Begins a transaction that writes a row. Returns its number. */
  async function begin(connection: PostgresConnection): Promise<string> {
    await connection.query({ text: 'BEGIN' })
    const { rows } = await connection.query<{ xid: string }>({
      text: 'SELECT pg_current_xact_id()::text AS xid',
    })
    await connection.query({ text: 'INSERT INTO kept DEFAULT VALUES' })
    return rows[0]?.xid ?? ''
  }

  test('is freed after the server has ended it', async () => {
    const opened = async () => new WeakRef(await PostgresConnection.open({ url: cluster.url }))
    const connection = await opened()
    expect(connection.deref()?.isBroken).toBe(false)
    await cluster.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agent-bridge'",
    )
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    // A look that returned the connection would keep it in memory until the next one.
    const isFreed = () => {
      collect()
      return connection.deref() === undefined
    }
    await expect.poll(isFreed).toBe(true)
  })

  test('does not believe a number that was given to another transaction after a crash', async () => {
    await cluster.query('CREATE TABLE kept (id serial)')
    const link = new Link({ url: cluster.url })
    const { connection, server } = await link.get()
    const xid = await begin(connection)
    await cluster.kill()
    await cluster.start()
    for (let last = 0n; last < BigInt(xid); ) {
      const [row] = await cluster.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid')
      last = BigInt(row?.xid ?? 0)
    }
    const [found] = await cluster.query<{ status: string }>('SELECT pg_xact_status($1::xid8) AS status', [
      xid,
    ])
    const fate = await fateOf(() => link.get(), { xid, server, withinMs: 5000, monotonicMs })
    await link.close()
    expect({ status: found?.status, fate }).toEqual({ status: 'committed', fate: 'unknown' })
  })

  test('knows that the server began again after one of its processes crashed', async () => {
    const before = new Link({ url: cluster.url })
    const { connection, server } = await before.get()
    const { rows } = await connection.query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid' })
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL')
    await expect.poll(() => connection.isBroken).toBe(true)
    await before.close()
    const after = new Link({ url: cluster.url })
    const { server: later } = await untilAnswered(() => after.get())
    await after.close()
    expect(later.split(' ').slice(0, 2)).toEqual(server.split(' ').slice(0, 2))
    expect(later).not.toBe(server)
  })

  test('knows that its transaction was committed, and that it was not', async () => {
    const link = new Link({ url: cluster.url })
    const told: string[] = []
    for (const end of ['COMMIT', 'ROLLBACK']) {
      const { connection, server } = await link.get()
      const xid = await begin(connection)
      await connection.query({ text: end })
      told.push(await fateOf(() => link.get(), { xid, server, withinMs: 5000, monotonicMs }))
    }
    await link.close()
    expect(told).toEqual(['committed', 'aborted'])
  })

  test('believes a COMMIT that was kept from waiting only once the standby has it', async () => {
    await cluster.query('CREATE TABLE IF NOT EXISTS kept (id serial)')
    const waits = (query: string) => cluster.query(`SELECT 1 ${waiting} AND query LIKE $1`, [query])
    const link = new Link({ url: cluster.url })
    const { connection, server } = await link.get()
    await cluster.requireStandby('nobody')
    try {
      const xid = await begin(connection)
      const committing = connection.query({ text: 'COMMIT' }).catch((error: unknown) => error)
      await expect.poll(() => waits('COMMIT')).toHaveLength(1)
      await cluster.query(`SELECT pg_terminate_backend(pid) ${waiting}`)
      expect([isTrouble(await committing), connection.isBroken]).toEqual([true, true])
      let told: string | undefined
      const fate = fateOf(() => link.get(), { xid, server, withinMs: 60_000, monotonicMs }).then((its) => {
        told = its
      })
      await expect.poll(() => waits('SELECT pg_logical_emit_message%')).toHaveLength(1)
      expect(told).toBe(undefined)
      cluster.configure(["synchronous_standby_names = ''"])
      cluster.reload()
      await fate
      expect(told).toBe('committed')
    } finally {
      cluster.configure(["synchronous_standby_names = ''"])
      cluster.reload()
      await link.close()
    }
  })

  test('asks again while its transaction is open, and gives up in time', async () => {
    const link = new Link({ url: cluster.url })
    const { connection, server } = await link.get()
    const asking = new Link({ url: cluster.url })
    const told: string[] = []
    for (const end of ['COMMIT', 'ROLLBACK', undefined]) {
      const xid = await begin(connection)
      let nowMs = 0
      let asked = 0
      const counted = () => {
        asked += 1
        return nowMs
      }
      const fate = fateOf(() => asking.get(), { xid, server, withinMs: 5000, monotonicMs: counted })
      // The clock is read before the first question and before each one.
      await expect.poll(() => asked).toBeGreaterThan(3)
      if (end === undefined) nowMs = 5000
      else await connection.query({ text: end })
      told.push(await fate)
    }
    await connection.query({ text: 'ROLLBACK' })
    await Promise.all([asking.close(), link.close()])
    expect(told).toEqual(['committed', 'aborted', 'unknown'])
  })

  test('breaks if the database is suspended, and every question ends in time', async () => {
    const link = new Link({ url: cluster.url, limits })
    const { connection, server } = await untilAnswered(() => link.get())
    cluster.pause()
    try {
      const beganMs = performance.now()
      const error = await connection.query({ text: 'SELECT 1' }).catch((cause: unknown) => cause)
      expect([isTrouble(error), connection.isBroken]).toEqual([true, true])
      const fate = await fateOf(() => link.get(), { xid: '1', server, withinMs: 500, monotonicMs })
      expect(fate).toBe('unknown')
      // The limits are 500 ms for the answer, and 500 and 300 ms for the question.
      expect(performance.now() - beganMs).toBeLessThan(5000)
    } finally {
      cluster.resume()
    }
    const answer = await untilAnswered(async () =>
      (await link.get()).connection.query({ text: 'SELECT 1 AS one' }),
    )
    expect(answer.rows).toEqual([{ one: 1 }])
    await link.close()
  })

  test('waits for a statement without a limit if it is asked to', async () => {
    const patient = { connectWithinMs: 5000, answerWithinMs: Number.POSITIVE_INFINITY }
    const waiting = await PostgresConnection.open({ url: cluster.url, limits: patient })
    const short = { connectWithinMs: 5000, answerWithinMs: 500 }
    const hurried = await PostgresConnection.open({ url: cluster.url, limits: short })
    const sleep = (seconds: number) => ({ text: `SELECT pg_sleep(${seconds})` })
    const ends = await Promise.allSettled([waiting.query(sleep(1.5)), hurried.query(sleep(30))])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await waiting.close()
  })
})

async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  let answer: { readonly value: T } | undefined
  await expect
    .poll(async () => {
      answer = await ask().then(
        (value) => ({ value }),
        () => undefined,
      )
      return answer !== undefined
    })
    .toBe(true)
  if (answer === undefined) throw new Error('no answer')
  return answer.value
}
