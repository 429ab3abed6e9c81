/** When the database of a harness confirms commits. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../../../support/postgres-cluster.ts'
import { machineMs } from '../client-log.ts'
import { OwnClient } from './own-client.ts'

const everyMs = 50
/** Each try costs a server that recovers a process. */
const connectEveryMs = 150
/** A commit that takes longer counts as not confirmed from its start. */
const lateMs = 250
/** After this time without a commit, the pulse prints what the server waits for. */
const longMs = 3000

export class Pulse {
  /** Times during which no commit was confirmed. */
  readonly away: [fromMs: number, toMs: number][] = []
  readonly #primary: () => Cluster
  readonly #client: OwnClient
  readonly #beating: Promise<void>
  #isOver = false

  /** `primary` returns the cluster that leads at the moment. */
  constructor(primary: () => Cluster) {
    this.#primary = primary
    this.#client = new OwnClient(() => pulseOf(primary()))
    this.#beating = this.#beat()
  }

  static async start(primary: () => Cluster): Promise<Pulse> {
    // A database of its own: the one of the nodes has exactly their tables.
    await primary().query('CREATE DATABASE pulse')
    await primary().query('CREATE TABLE beats (one int)', [], pulseOf(primary()))
    return new Pulse(primary)
  }

  async #beat(): Promise<void> {
    let lastMs = machineMs()
    while (!this.#isOver) {
      const begunMs = machineMs()
      const ok = await this.#commit()
      const nowMs = machineMs()
      if (ok && nowMs - begunMs < lateMs && begunMs - lastMs < lateMs + everyMs) lastMs = nowMs
      else if (ok) {
        this.away.push([lastMs, nowMs])
        lastMs = nowMs
      }
      await sleep(this.#client.isOpen ? everyMs : connectEveryMs)
    }
  }

  async #commit(): Promise<boolean> {
    const timer = setTimeout(() => void printWaits(this.#primary().url).catch(() => {}), longMs)
    try {
      await this.#client.query('TRUNCATE beats')
      return true
    } catch {
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    this.#isOver = true
    await this.#beating
    await this.#client.close()
  }
}

/** Prints the waits of all processes of a server, and the state of its standbys. */
async function printWaits(url: string): Promise<void> {
  const client = new OwnClient(() => url)
  try {
    const rows = await client.query<{ line: string }>(`
      SELECT concat_ws(' ', backend_type, state, wait_event_type, wait_event, left(query, 60)) AS line
        FROM pg_stat_activity
      UNION ALL SELECT concat_ws(' ', 'standby', state, sync_state, sent_lsn, flush_lsn, reply_time,
        pg_current_wal_flush_lsn()) FROM pg_stat_replication`)
    process.stderr.write(`no commit for long:\n${rows.map(({ line }) => line).join('\n')}\n`)
  } catch (error) {
    process.stderr.write(`no commit for long: ${(error as Error).message}\n`)
  } finally {
    await client.close()
  }
}

const pulseOf = ({ url }: Cluster): string => url.replace(/\/postgres$/, '/pulse')
