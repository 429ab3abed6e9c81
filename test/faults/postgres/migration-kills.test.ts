/**
 * A node that is killed while it migrates its database: the step in progress leaves no trace, and two nodes
 * that start at once complete the schema and serve. At every second place they start while PostgreSQL still
 * runs the step of the killed one.
 *
 * The default is three places. BRIDGE_POSITIONS=200 stops up to that many commands of the baseline and of each
 * step after it. `faults/migration-kills.test.ts` shows the same on SQLite.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { baselineNumber } from '../../../server/database/postgres/baseline.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { migrate } from '../../../server/database/postgres/migrate.ts'
import { initServer } from '../../../server/host/init.ts'
import { type RunningServer, startServer } from '../../../server/server.ts'
import { makeEnvelopeKey } from '../../../server/storage/envelope-keys.ts'
import { dropConnections } from '../../support/http.ts'
import { ownerAt } from '../../support/nodes.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { setUpOwner } from '../../support/owner.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { program } from '../../support/program.ts'
import {
  commandsOf,
  type Stop,
  type StoppingDatabase,
  StoppingDatabases,
  schemaOf,
  serverId,
  stopAt,
} from '../lab/postgres/migration-stops.ts'

postgresOnly()

const positions = Number(process.env.BRIDGE_POSITIONS ?? 0)
const preload = fileURLToPath(new URL('../../support/server-preload.mjs', import.meta.url))
const quiet = { port: '0', log_level: 'fatal', reserve_bytes: '0', package_bytes: '0' }

describe.skipIf(!hasPostgres)('a node that is killed while it migrates', () => {
  let cluster: Cluster
  let databases: StoppingDatabases
  let whole: string[]
  let commands: Map<number, number>
  const folder = mkdtempSync(join(tmpdir(), 'bridge-migrations-'))
  let running: RunningServer[] = []
  const nodes = ['a', 'b'] as const

  beforeAll(async () => {
    cluster = await Cluster.start()
    databases = new StoppingDatabases(cluster, migrations)
    const undisturbed = await databases.make()
    const connection = await PostgresConnection.open({ url: undisturbed.url })
    await migrate(connection, migrations, () => new Date())
    await connection.close()
    whole = await schemaOf(undisturbed)
    commands = await commandsOf(undisturbed)
  })
  afterEach(stopNodes)
  afterAll(async () => {
    await cluster?.close()
    rmSync(folder, { recursive: true })
  })

  async function stopNodes(): Promise<void> {
    await Promise.all(running.map((server) => server.stop()))
    for (const { url } of running) dropConnections(url)
    running = []
  }

  /** Places of the given number of commands, which is 1 or more. */
  const spread = (count: number) =>
    Array.from({ length: Math.min(count, positions) }, (_, index) =>
      Math.ceil(((index + 1) * count) / Math.min(count, positions)),
    )

  /** The baseline in its middle, a step with several commands, and the last step. */
  const few = (): Omit<Stop, 'way'>[] => [
    { recorded: 0, command: Math.ceil((commands.get(0) ?? 0) / 2) },
    { recorded: 26, command: 2 },
    { recorded: migrations.length - 1, command: commands.get(migrations.length - 1) ?? 0 },
  ]
  const every = (): Omit<Stop, 'way'>[] =>
    [...commands].flatMap(([recorded, count]) => spread(count).map((command) => ({ recorded, command })))
  const stops = (): Stop[] =>
    (positions === 0 ? few() : every()).map((stop, index) => ({
      ...stop,
      way: index % 2 === 0 ? 'runs' : 'waits',
    }))

  const configOf = (name: string, { url }: StoppingDatabase) => {
    const data = join(folder, name)
    mkdirSync(data, { recursive: true })
    return readConfig({ ...quiet, data, database: url, node_name: name }, {})
  }

  /** Starts the program, and kills it once its step has stopped. */
  async function killAtStop(database: StoppingDatabase, stop: Stop) {
    const data = join(folder, 'killed')
    mkdirSync(data, { recursive: true })
    const held = await stopAt(database, stop)
    const settings = Object.entries({ ...quiet, data, database: database.url, node_name: 'killed' })
    const flags = settings.map(([name, value]) => `--${name.replaceAll('_', '-')}=${value}`)
    const node = spawn(process.execPath, ['--import', preload, program, 'server', 'start', ...flags], {
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    const ended = once(node, 'exit')
    const early = ended.then(() => expect.fail('the node ended before its step stopped'))
    await Promise.race([held.reached(), early])
    node.kill('SIGKILL')
    early.catch(() => {})
    expect(await ended).toEqual([null, 'SIGKILL'])
    return held
  }

  /** Resolves once PostgreSQL has ended the session of the killed node. */
  const untilGone = ({ query }: StoppingDatabase) =>
    expect
      .poll(
        () =>
          query(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'agent-bridge'",
          ),
        { interval: 10 },
      )
      .toEqual([])
  /** Resolves once another process waits for the step of the killed one. */
  const untilQueued = ({ query }: StoppingDatabase) =>
    expect
      .poll(
        () =>
          query(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'relation'",
          ),
        { interval: 5 },
      )
      .not.toEqual([])
  const recordedIn = async ({ query }: StoppingDatabase) => {
    const [found] = await query<{ name: string | null }>("SELECT to_regclass('schema_migrations') AS name")
    return found?.name === null ? 0 : (await query('SELECT 1 FROM schema_migrations')).length
  }

  /** Two hosts create the installation at once. Returns the link that one of them prints. */
  async function createOnce(database: StoppingDatabase): Promise<string> {
    const made = await Promise.allSettled(nodes.map((name) => initServer(configOf(name, database))))
    const links = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value.setupLink] : []))
    expect(links).toHaveLength(1)
    const [winner, loser] = made[0]?.status === 'fulfilled' ? nodes : nodes.toReversed()
    copyFileSync(
      configOf(winner ?? '', database).envelopeKeyFile,
      configOf(loser ?? '', database).envelopeKeyFile,
    )
    return links[0] ?? ''
  }

  async function startBoth(database: StoppingDatabase, link?: string): Promise<string> {
    const configs = nodes.map((name) => configOf(name, database))
    for (const { envelopeKeyFile } of configs)
      if (!existsSync(envelopeKeyFile)) makeEnvelopeKey(envelopeKeyFile, (bytes) => Buffer.alloc(bytes, 1))
    running = await Promise.all(configs.map((config) => startServer(config, { passwordCost: 4 })))
    const links = running.flatMap(({ setupLink }) => setupLink ?? [])
    expect(links).toHaveLength(link === undefined ? 1 : 0)
    return link ?? links[0] ?? ''
  }

  async function killAndStart(stop: Stop): Promise<void> {
    const { recorded, way } = stop
    const database = await databases.make(recorded === 0 ? 0 : baselineNumber)
    const held = await killAtStop(database, stop)
    if (way === 'waits') {
      await held.release()
      await untilGone(database)
      expect(await recordedIn(database)).toBe(recorded)
    } else {
      untilQueued(database).then(held.release, held.release)
    }
    const link = await startBoth(database, recorded === 0 ? await createOnce(database) : undefined)
    expect(await schemaOf(database)).toEqual(whole)
    const [first, second] = running as [RunningServer, RunningServer]
    if (recorded > 0) expect([first.serverId, second.serverId]).toEqual([serverId, serverId])
    for (const { url } of running) expect((await fetch(`${url}/api/ready`)).status).toBe(200)
    const owner = await setUpOwner(first.url, link)
    const { id } = await ownerAt(second, owner).createProject('demo')
    await owner.createAgent(id, 'ada')
    await stopNodes()
    for (const name of [...nodes, 'killed']) rmSync(join(folder, name), { recursive: true })
  }

  test('leaves complete steps, and two that start at once finish them and serve', {
    timeout: 300_000 + Math.min(positions, 200) * 60_000,
  }, async () => {
    expect([...commands.keys()]).toEqual([
      0,
      ...migrations.map(({ number }) => number).filter((n) => n >= baselineNumber && n < migrations.length),
    ])
    const all = stops()
    for (const stop of all)
      await killAndStart(stop).catch((cause: unknown) => {
        throw new Error(`step after ${stop.recorded}, command ${stop.command}, ${stop.way}`, { cause })
      })
    const steps = new Set(all.map(({ recorded }) => recorded)).size
    process.stderr.write(`killed ${all.length} times, in ${steps} steps\n`)
    expect(steps).toBe(positions === 0 ? 3 : commands.size)
  })
})
