/**
 * A node whose `database_listen_url` leads to a standby, to nothing, or to the primary, and a node whose
 * database is unreachable: the log names each cause of an outage once, however often the node tries again.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { untilPeers } from '../../support/nodes.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { type Switch, startSwitch } from '../../support/switch.ts'
import { readyAfter } from '../lab/postgres/load.ts'

postgresOnly()

interface Line {
  readonly level: number
  readonly msg: string
  readonly err?: { readonly message: string }
}

const warning = 40
const unheard = 'cannot connect to hear other nodes, so this node asks the database every 250 ms'

describe.skipIf(!hasPostgres)('a node that hears others by a way that moves', () => {
  let primary: Cluster
  let standby: Cluster
  /** The way of the node to its database. */
  let main: Switch
  /** The way that `database_listen_url` names. */
  let way: Switch
  let node: ServerProcess

  beforeAll(async () => {
    primary = await Cluster.start()
    standby = await primary.startStandby()
    main = await startSwitch(primary.port)
    way = await startSwitch(standby.port)
    const urls = { database: main.urlOf(primary.url), database_listen_url: way.urlOf(primary.url) }
    node = await startServerProcess({ settings: { ...urls, log_level: 'warn' } })
  })
  afterAll(async () => {
    await node?.close()
    await way?.close()
    await main?.close()
    await standby?.close()
    await primary?.close()
  })

  const troubles = (): Line[] =>
    node.errors
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Line)
      .filter(({ level }) => level >= warning)
  const causes = () => troubles().flatMap(({ msg, err }) => (msg === unheard ? [err?.message ?? ''] : []))
  /** Resolves once the node has tried so many times from now on. */
  const tries = async (count: number) => {
    const before = way.led + way.refused
    await expect.poll(() => way.led + way.refused - before, { interval: 20 }).toBeGreaterThanOrEqual(count)
  }

  test('says once that the way leads to a standby, and polls meanwhile', async () => {
    await untilPeers(node, 'polled')
    await tries(5)
    expect(causes()).toEqual([expect.stringContaining('it is a standby')])
  })

  test('says once what has changed', async () => {
    way.isolate()
    await tries(3)
    way.lead(standby.port)
    await tries(2)
    const said = causes()
    expect(said.filter((cause) => cause.includes('standby'))).toHaveLength(1)
    // A connection that is cut at once ends in one of two ways.
    expect(said.length).toBeGreaterThan(1)
    expect(said).toEqual([...new Set(said)])
  })

  test('hears others once the way leads to a primary, and names the cause of the next outage again', async () => {
    way.lead(primary.port)
    await untilPeers(node, 'notified')
    const before = causes().length
    way.lead(standby.port)
    await untilPeers(node, 'polled')
    await tries(3)
    expect(causes().slice(before)).toEqual([expect.stringContaining('it is a standby')])
    way.lead(primary.port)
    await untilPeers(node, 'notified')
  })

  test('says once what it cannot do while its database is unreachable', async () => {
    const before = troubles().length
    main.isolate()
    const lines = () =>
      troubles()
        .slice(before)
        .map(({ msg, err }) => `${msg}: ${err?.message}`)
    await expect.poll(lines).not.toEqual([])
    const refused = main.refused
    await expect.poll(() => main.refused, { interval: 20 }).toBeGreaterThan(refused + 100)
    expect(lines()).toEqual([...new Set(lines())])
    main.lead(primary.port)
    await readyAfter(node)
  })
})
