/**
 * How many statements reach PostgreSQL for waits in which nothing happens, beside those of a node without waits.
 * They are sockets, which do not end, so no request of a client is among the statements.
 * Runs with `BRIDGE_TEST_STORE=postgres`. `BRIDGE_LISTENERS=5000` is the full figure, over the minute in which
 * each wait renews its contact.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { startServer } from '../../../server/server.ts'
import { dropConnections } from '../../support/http.ts'
import { makeInstallation } from '../../support/installation.ts'
import { untilPeers } from '../../support/nodes.ts'
import { populate } from '../../support/population.ts'
import { dropDatabase, isOnPostgres, storeSettings } from '../../support/postgres.ts'
import { openCrowd } from '../delivery/crowd.ts'
import { startCounter } from './counted.ts'

const long = process.env.BRIDGE_LISTENERS
const listeners = Number(long ?? 300)
const seconds = long === undefined ? 4 : 65
/** A node without waits costs the same at any time. */
const aloneSeconds = Math.min(seconds, 20)
const mostASecond = 10

test.skipIf(!isOnPostgres)(
  `${listeners} idle waits cost at most ${mostASecond} statements a second`,
  async () => {
    const data = mkdtempSync(join(tmpdir(), 'bridge-'))
    await makeInstallation(readConfig({ data }, {}))
    const counter = await startCounter(storeSettings(data).database ?? '')
    const quiet = { port: '0', reserve_bytes: '0', log_level: 'silent' }
    const generous = { rate_per_second: '100000', rate_burst: '100000', max_waits: '100000' }
    const config = readConfig({ data, ...quiet, ...generous, database: counter.url }, {})
    // The first start sets the replay floor. There are no credentials yet, so it refuses no proof.
    await (await startServer(config)).stop()
    // Without pairs there are no conversations, which the maintenance would read in some runs of this test.
    const { projectId, agents } = populate(data, listeners, listeners)
    const server = await startServer(config)
    await untilPeers(server, 'notified')
    const rate = async (over: number) => {
      const before = counter.executedOnAll()
      await sleep(over * 1000)
      return (counter.executedOnAll() - before) / over
    }
    const alone = await rate(aloneSeconds)
    const beforeWaits = counter.executedOnAll()
    const crowd = await openCrowd({ server, projectId, transport: 'socket' }, agents)
    try {
      // Each wait reads its inbox first. All have done so once the rate is nearly that of a node without waits.
      // Under load it may be low for a second before that.
      while ((await rate(3)) > alone + mostASecond);
      const openedAgain = crowd.openedAgain()
      // The control: the counter sees the statements by which the waits were opened.
      expect(counter.executedOnAll() - beforeWaits).toBeGreaterThan(listeners / 32)
      const textsBefore = counter.byText()
      const more = (await rate(seconds)) - alone
      const most = [...counter.byText()]
        .map(([text, count]) => ({ text, each: (count - (textsBefore.get(text) ?? 0)) / seconds }))
        .toSorted((one, other) => other.each - one.each)
        .slice(0, 12)
        .map(({ text, each }) => `${each.toFixed(2)} a second: ${text.replace(/\s+/g, ' ').slice(0, 120)}`)
      // The requests of a wait that broke and was opened again are not idle.
      expect(crowd.openedAgain() - openedAgain).toBe(0)
      process.stdout.write(
        `${listeners} idle waits: ${more.toFixed(1)} statements a second beside ${alone.toFixed(1)} of the node\n`,
      )
      expect(more, most.join('\n')).toBeLessThanOrEqual(mostASecond)
      expect(crowd.arrivals.size).toBe(0)
    } finally {
      await crowd.close()
      await server.stop()
      dropConnections(server.url)
      counter.close()
      await dropDatabase(data)
      rmSync(data, { recursive: true })
    }
  },
  540_000,
)
