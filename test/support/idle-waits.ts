/**
 * How many statements reach PostgreSQL for waits in which nothing happens, beside those of a node without waits.
 * They are sockets, which do not end, so no request of a client is among the statements.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../server/config.ts'
import { startServer } from '../../server/server.ts'
import { startCounter } from './counted.ts'
import { openCrowd } from './crowd.ts'
import { dropConnections } from './http.ts'
import { makeInstallation } from './installation.ts'
import { populate } from './population.ts'
import { dropDatabase, storeSettings } from './postgres.ts'

/** Allowed statements a second for all idle waits together. */
export const mostASecond = 10

export interface IdleWaits {
  /** Statements a second of a node without waits. */
  readonly alone: number
  /** Statements a second beside them while all wait. */
  readonly more: number
  /** The most frequent statements, with their number a second. */
  readonly most: readonly string[]
  /** Statements by which the waits were opened. */
  readonly toOpen: number
  /** Waits that broke while the statements were counted. Their requests are not idle. */
  readonly openedAgain: number
  /** Messages that arrived. */
  readonly arrived: number
}

/** Counts for so many seconds. A node without waits costs the same at any time. */
export async function countIdleWaits(
  listeners: number,
  seconds: number,
  aloneSeconds = Math.min(seconds, 20),
): Promise<IdleWaits> {
  const data = mkdtempSync(join(tmpdir(), 'bridge-'))
  await makeInstallation(readConfig({ data }, {}))
  const counter = await startCounter(storeSettings(data).database ?? '')
  const quiet = { port: '0', reserve_bytes: '0', log_level: 'silent' }
  const generous = { rate_per_second: '100000', rate_burst: '100000', max_waits: '100000' }
  const config = readConfig({ data, ...quiet, ...generous, database: counter.url }, {})
  // The first start sets the replay floor. There are no credentials yet, so it refuses no proof.
  await (await startServer(config)).stop()
  // Without pairs there are no conversations, which the maintenance would read in some runs.
  const { projectId, agents } = populate(data, listeners, listeners)
  const server = await startServer(config)
  // Until then the node asks four times as often.
  while ((await peersOf(server)) !== 'notified') await sleep(20)
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
    const toOpen = counter.executedOnAll() - beforeWaits
    let textsBefore = counter.byText()
    let more = (await rate(seconds)) - alone
    // Maintenance that falls into this time costs statements too, and the waits cost theirs each time.
    for (let again = 0; more > mostASecond && again < 2; again += 1) {
      textsBefore = counter.byText()
      more = Math.min(more, (await rate(seconds)) - alone)
    }
    const most = [...counter.byText()]
      .map(([text, count]) => ({ text, each: (count - (textsBefore.get(text) ?? 0)) / seconds }))
      .toSorted((one, other) => other.each - one.each)
      .slice(0, 12)
      .map(({ text, each }) => `${each.toFixed(2)} a second: ${text.replace(/\s+/g, ' ').slice(0, 120)}`)
    const again = crowd.openedAgain() - openedAgain
    return { ...{ alone, more, most, toOpen }, openedAgain: again, arrived: crowd.arrivals.size }
  } finally {
    await crowd.close()
    await server.stop()
    dropConnections(server.url)
    counter.close()
    await dropDatabase(data)
    rmSync(data, { recursive: true })
  }
}

/** The bench counts too, where `untilPeers` of `nodes.ts` cannot run. */
async function peersOf({ url }: { readonly url: string }): Promise<string | undefined> {
  const reply = await fetch(`${url}/api/ready`)
  return ((await reply.json()) as { peers?: string }).peers
}
