import type { ListenerAt, Listeners, OthersSummary } from '../listeners.ts'
import type { Answer, Statement } from './connection.ts'
import type { Link } from './link.ts'

/** A node whose last beat is older counts as ended. */
const alive = "SELECT id FROM nodes WHERE seen_at > clock_timestamp() - interval '10 s'"
/** Rows of agents that left earlier are removed. Long beyond the 5 seconds in which they still listen. */
const keptMinutes = 1

/** Statements of their own, outside of the groups of writes: the table is not logged, so they sync nothing. */
export function createListeners(link: Link, self: string, now: () => Date): Listeners {
  const ask = async <R>(statement: Statement): Promise<Answer<R>> => {
    const { connection } = await link.get()
    return connection.query<R>(statement)
  }
  return {
    async write(listeners) {
      const column = <T>(read: (each: (typeof listeners)[number]) => T) => listeners.map(read)
      await ask({
        text: `INSERT INTO listeners (node_id, agent_id, project_id, waiting, listening, since, ended_at)
          SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
          ON CONFLICT (agent_id, node_id) DO UPDATE SET waiting = excluded.waiting,
            listening = excluded.listening, since = excluded.since, ended_at = excluded.ended_at`,
        values: [
          self,
          column((each) => each.agent_id),
          column((each) => each.project_id),
          column((each) => each.waiting),
          column((each) => each.listening),
          column((each) => each.since),
          column((each) => each.ended_at),
        ],
      })
    },
    async readOthers() {
      const text = `SELECT node_id, agent_id, project_id, waiting, listening, since, ended_at FROM listeners
        WHERE node_id <> $1 AND node_id IN (${alive})`
      return (await ask<ListenerAt>({ text, values: [self] })).rows
    },
    async readSummary() {
      const text = `SELECT (SELECT array_agg(id) FROM (${alive}) AS alive) AS nodes, count(*) AS waiting,
          coalesce(sum(listening), 0)::bigint AS listening, max(since) AS since FROM listeners
        WHERE waiting = 1 AND node_id <> $1 AND node_id IN (${alive})`
      const [row] = (await ask<OthersSummary>({ text, values: [self] })).rows
      return row ?? { nodes: [], waiting: 0, listening: 0, since: null }
    },
    async clean() {
      const left = new Date(now().getTime() - keptMinutes * 60_000).toISOString()
      await ask({
        text: `DELETE FROM listeners WHERE node_id NOT IN (SELECT id FROM nodes)
          OR node_id = $1 AND waiting = 0 AND since < $2`,
        values: [self, left],
      })
    },
  }
}
