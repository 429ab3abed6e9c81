/**
 * A PostgreSQL server whose disk is full, under load: a small disk for the tables, or for the WAL. Nothing
 * that was answered is lost, the node stays, and it is ready within two seconds of the space.
 *
 * The disks are tmpfs; the tests are skipped if this user may not mount one.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { postgresOnly } from '../../support/one-store.ts'
import { settlePeople } from '../../support/people.ts'
import { Cluster, type Disks, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import type { Operation } from '../lab/history.ts'
import { type Load, readyAfter, startLoad } from '../lab/postgres/load.ts'
import { mountSmallDisk, type SmallDisk } from '../lab/small-disk.ts'

postgresOnly()

const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const readyWithinMs = 2000

interface Scene {
  readonly disk: SmallDisk
  readonly cluster: Cluster
}

async function clusterOn(
  mebibytes: number,
  disksOf: (disk: string) => Disks,
  skip: (why: string) => never,
): Promise<Scene> {
  const path = mkdtempSync(join(tmpdir(), 'bridge-full-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const disk = mountSmallDisk(path, mebibytes) ?? skip('this user may not mount a tmpfs')
  onTestFinished(() => disk.unmount())
  chmodSync(path, 0o755)
  const cluster = await Cluster.start(['max_wal_size = 1GB'], [], disksOf(path))
  onTestFinished(() => cluster.close())
  return { disk, cluster }
}

async function loadOn(cluster: Cluster): Promise<Load> {
  const load = await startLoad(cluster, { seed, writers: 4 })
  onTestFinished(() => load.close())
  return load
}

const checksOf = async ({ url }: ServerProcess) => {
  const ready = await fetch(`${url}/api/ready`)
  return ((await ready.json()) as { checks: Record<string, boolean> }).checks
}

/** Codes of the refusals, each of which must say when to repeat the request. */
const refusals = (operations: readonly Operation[]) => {
  const refused = operations.filter(({ outcome }) => outcome === 'info')
  expect(refused.filter(({ answer }) => !answer.includes('"retry_after_ms":'))).toEqual([])
  return new Set(refused.map(({ code }) => code))
}

describe.skipIf(!hasPostgres)(`a database on a full disk (seed ${seed})`, () => {
  test('without a request, the node is ready once there is space, and not before', async ({ skip }) => {
    const { disk, cluster } = await clusterOn(64, (data) => ({ data, wal: tmpdir() }), skip)
    const server = await startServerProcess({ settings: { database: cluster.url } })
    onTestFinished(() => server.close())
    const { ada, ben } = await settlePeople(server)
    const conversation_id = await ada.conversationWith(ben.id)
    const send = async (key: string) => {
      const body = randomBytes(30_000).toString('base64')
      const message = { conversation_id, recipient_agent_id: ben.id, type: 'note', body }
      const { status, json } = await ada.call({ target: '/api/v1/messages', key, body: message })
      return [status, (json as { error?: string }).error]
    }
    expect(await send('there-is-space')).toEqual([200, undefined])
    disk.fill()
    for (let index = 0; index < 10; index += 1) {
      expect(await send(`there-is-no-space-${index}`)).toEqual([503, 'storage_full'])
      expect(await checksOf(server)).toMatchObject({ storage: false, database: true })
    }
    disk.empty()
    expect(await readyAfter(server)).toBeLessThan(readyWithinMs)
    expect(await send('there-is-space-again')).toEqual([200, undefined])
  })

  test('tables that cannot grow are storage_full, and nothing that was answered is lost', async ({
    skip,
  }) => {
    const { disk, cluster } = await clusterOn(64, (data) => ({ data, wal: tmpdir() }), skip)
    const load = await loadOn(cluster)
    await load.crew.answers(100)
    disk.fill()
    const checks = () => checksOf(load.server)
    await expect.poll(checks, { timeout: 60_000 }).toMatchObject({ storage: false, database: true })
    disk.empty()
    expect(await readyAfter(load.server)).toBeLessThan(readyWithinMs)
    await load.crew.answers(100)
    const { wrong, operations } = await load.end(cluster)
    expect(wrong).toEqual([])
    expect(refusals(operations)).toContain('storage_full')
  })

  test('a WAL that cannot grow stops the database, and not the node', async ({ skip }) => {
    const { disk, cluster } = await clusterOn(24, (wal) => ({ wal }), skip)
    const load = await loadOn(cluster)
    await load.crew.answers(100)
    disk.fill()
    const log = () => readFileSync(join(cluster.folder, 'log'), 'utf8')
    await expect.poll(log, { timeout: 60_000 }).toMatch(/PANIC.*No space left/)
    disk.empty()
    if (!cluster.isRunning) await cluster.start()
    const answers = () => cluster.query('SELECT 1').then(Boolean, () => false)
    await expect.poll(answers, { timeout: 30_000 }).toBe(true)
    expect(await readyAfter(load.server)).toBeLessThan(readyWithinMs)
    await load.crew.answers(100)
    const { wrong, operations } = await load.end(cluster)
    expect(wrong).toEqual([])
    refusals(operations)
  })
})
