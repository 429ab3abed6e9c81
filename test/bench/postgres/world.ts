/** The same people at a node on SQLite and at two nodes on PostgreSQL, each a process with its own folder. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { readConfig } from '../../../server/config.ts'
import { initServer } from '../../../server/host/init.ts'
import { asTestAgent, type Population, populate, type Seeded } from '../../support/population.ts'
import { Cluster } from '../../support/postgres-cluster.ts'
import { type Measured, startNode } from '../measured.ts'
import { type Pair, pairsIn } from '../messages/world.ts'

export interface TwoStores {
  readonly cluster: Cluster
  readonly onPostgres: Measured
  readonly onSqlite: Measured
  readonly senders: readonly Pair[]
  readonly readers: readonly Pair[]
  /** Pairs of two agents and one project each. */
  readonly workers: readonly Pair[]
  /** Pairs of all senders with one recipient. */
  readonly star: readonly Pair[]
  /** Starts a second node on the PostgreSQL database. */
  startSecond(): Promise<Measured>
  /**
   * Stops the node on PostgreSQL and starts it again. Returns the seconds until it is ready, and its processor
   * time.
   */
  restart(meanwhile: () => Promise<unknown>): Promise<{ readonly tookS: number; readonly cpuMs: number }>
  end(): Promise<void>
}

const senderCount = 128
const readerCount = 32
const tables = ['projects', 'agents', 'credentials', 'sessions', 'pairings', 'conversations']

export async function openTwoStores(workerCount: number): Promise<TwoStores> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-postgres-'))
  const cluster = await Cluster.start(['shared_buffers = 256MB'])
  const [sqlite, postgres] = [join(folder, 'sqlite'), join(folder, 'postgres')]
  const { serverId } = await initServer(readConfig({ data: sqlite, port: '0' }, {}))
  await initServer(readConfig({ data: postgres, port: '0', database: cluster.url }, {}))
  const count = senderCount + readerCount
  const people = populate(sqlite, 2 * count, count)
  const apart = Array.from({ length: workerCount }, () => populate(sqlite, 2, 1))
  const around = populate(sqlite, 33, 1)
  await copy(join(sqlite, 'bridge.db'), cluster)
  // The proofs of both name the same server.
  await cluster.query('UPDATE server SET server_id = $1', [serverId])
  // Without a shared store the nodes take no packages.
  const environment = { BRIDGE_DATABASE_URL: cluster.url, BRIDGE_PACKAGE_BYTES: '0' }
  const onSqlite = await startNode(sqlite)
  let onPostgres = await startNode(postgres, environment)
  const server = { url: 'http://127.0.0.1', serverId }
  const pairsOf = ({ projectId: id, agents: [one, ...others], conversations: opened }: Population) =>
    others.map((each, index): Pair => {
      const [sender, recipient] = [asTestAgent(server, id, each), asTestAgent(server, id, one as Seeded)]
      return { sender, recipient, conversation: opened[index + 1] ?? '' }
    })
  const pairs = pairsIn(people, count, serverId)
  return {
    cluster,
    get onPostgres() {
      return onPostgres
    },
    onSqlite,
    senders: pairs.slice(0, senderCount),
    readers: pairs.slice(senderCount),
    workers: apart.flatMap(pairsOf),
    star: pairsOf(around),
    startSecond() {
      const second = join(folder, 'second')
      mkdirSync(second, { mode: 0o700, recursive: true })
      copyFileSync(join(postgres, 'envelope.key'), join(second, 'envelope.key'))
      return startNode(second, { ...environment, BRIDGE_NODE_NAME: 'second' })
    },
    async restart(meanwhile) {
      await onPostgres.end()
      await meanwhile()
      const began = performance.now()
      onPostgres = await startNode(postgres, environment)
      const tookS = (performance.now() - began) / 1000
      return { tookS, cpuMs: (await onPostgres.usage()).cpuMs }
    },
    async end() {
      await onPostgres.end()
      await onSqlite.end()
      await cluster.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Copies the people from the file of SQLite. */
async function copy(path: string, cluster: Cluster): Promise<void> {
  const database = new Database(path, { readonly: true })
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  try {
    for (const table of tables) {
      const rows = database.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).all()
      for (const row of rows) {
        const names = Object.keys(row)
        const places = names.map((_, index) => `$${index + 1}`).join(', ')
        const text = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`
        await client.query({ name: table, text, values: Object.values(row) })
      }
    }
  } finally {
    await client.end()
    database.close()
  }
}
