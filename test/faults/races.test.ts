/**
 * Operations that must happen once, or in order, while others do the same simultaneously. Reliability §3.1
 * F24, §1 P5.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { nodeLane } from '../../server/database/lanes.ts'
import { initServer } from '../../server/host/init.ts'
import { openStore } from '../../server/open-store.ts'
import { startServer } from '../../server/server.ts'
import { startBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { exchange, type Reply } from '../support/http.ts'
import { ownerPassword } from '../support/owner.ts'
import { dropDatabase, makeEmptyDatabase } from '../support/postgres.ts'

async function freshFolder() {
  const data = await mkdtemp(join(tmpdir(), 'bridge-races-'))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  onTestFinished(() => dropDatabase(data))
  await makeEmptyDatabase(data)
  const settings = { port: '0', log_level: 'silent', reserve_bytes: '0', failed_auth_per_minute: '100000' }
  const config = testConfig(data, settings)
  return { data, config, ...(await initServer(config)) }
}

const errorOf = (reply: Reply) => (reply.json as { error?: string }).error

test('of fifty people who redeem the set-up link simultaneously one becomes the owner', async () => {
  const { config, setupLink } = await freshFolder()
  const server = await startServer(config, { passwordCost: 4 })
  onTestFinished(() => server.stop())
  const token = new URL(setupLink).hash.slice(1)
  const redeem = (name: string, token: string) =>
    exchange(server.url, {
      method: 'POST',
      target: '/api/admin/setup',
      headers: [
        ['Origin', server.url],
        ['Content-Type', 'application/json'],
      ],
      body: JSON.stringify({ token, name, password: ownerPassword }),
    })
  const guessed = await redeem('stranger', randomBytes(32).toString('base64url'))
  expect([guessed.status, errorOf(guessed)]).toEqual([401, 'sign_in_failed'])

  const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => redeem(`owner ${index}`, token)))
  const won = replies.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  expect(won[0]?.headers['set-cookie']).toHaveLength(1)
  const refused = replies.filter(({ status }) => status !== 200)
  expect(refused.filter(({ headers }) => headers['set-cookie'] !== undefined)).toEqual([])
  expect(refused.map(errorOf).filter((code) => code !== 'setup_done' && code !== 'rate_limited')).toEqual([])
  expect(refused.map(errorOf)).toContain('setup_done')
  expect(errorOf(await redeem('late', token))).toBe('setup_done')
})

test('a reader that pages by id during inserts misses no row and sees none twice', async () => {
  const bridge = await startBridge()
  onTestFinished(() => bridge.close())
  const { owner, project } = bridge
  const target = `/api/admin/projects/${project.id}/agents`
  let creating = true
  let pagesMeanwhile = 0
  const chain = async (name: string) => {
    const ids: string[] = []
    for (let index = 0; index < 10 || pagesMeanwhile < 4; index++)
      ids.push((await owner.createAgent(project.id, `${name} ${index}`)).id)
    return ids
  }
  const created = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(chain)).finally(() => {
    creating = false
  })

  const seen: string[] = []
  const readNext = async () => {
    const after = seen.at(-1)
    const query = after === undefined ? '?limit=3' : `?limit=3&after=${after}`
    const { agents } = await owner.ok<{ agents: { id: string }[] }>({ target: target + query })
    seen.push(...agents.map(({ id }) => id))
    return agents.length
  }
  while (creating) pagesMeanwhile += Math.sign(await readNext())
  while ((await readNext()) > 0);

  const ids = [bridge.ada.id, bridge.ben.id, ...(await created).flat()]
  expect(pagesMeanwhile).toBeGreaterThan(3)
  expect(seen).toEqual([...ids].sort())
})

test('a reader sees no row before its commit: not while the unit runs, and never if it fails', async () => {
  const { config } = await freshFolder()
  const fail = (error: unknown) => {
    throw error
  }
  const clock = () => new Date()
  const options = { clock, monotonicMs: () => performance.now(), random: randomBytes }
  const store = await openStore(config, { ...options, onFatal: fail, onEffectError: fail })
  onTestFinished(() => store.close())
  const row = (number: number) => ({ number, name: 'x', applied_at: 'now' })
  const count = () =>
    store.reader.read(async (db) => (await db.selectFrom('schema_migrations').selectAll().execute()).length)
  const before = await count()

  let committed = false
  const read: Promise<{ rows: number; committed: boolean }>[] = []
  const look = () => read.push(count().then((rows) => ({ rows, committed })))
  await store.writer.write(nodeLane, async (tx) => {
    tx.afterCommit(() => {
      committed = true
    })
    for (let number = 1001; number <= 1020; number++) {
      await tx.db.insertInto('schema_migrations').values(row(number)).execute()
      look()
      // On PostgreSQL this waits for the answer, so that readers are answered meanwhile.
      await tx.db.selectFrom('schema_migrations').selectAll().where('number', '=', number).execute()
    }
  })
  look()
  const looks = await Promise.all(read)
  const during = looks.filter((each) => !each.committed)
  expect(during.length).toBeGreaterThan(0)
  expect(new Set(during.map(({ rows }) => rows))).toEqual(new Set([before]))
  expect(looks.at(-1)).toEqual({ rows: before + 20, committed: true })

  const failed = store.writer.write(nodeLane, async (tx) => {
    await tx.db.insertInto('schema_migrations').values(row(2001)).execute()
    look()
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  expect((await read.at(-1))?.rows).toBe(before + 20)
  expect(await count()).toBe(before + 20)
})
