import { type RawBuilder, sql } from 'kysely'
import type { Changes } from '../changes.ts'
import type { Reader } from '../reader.ts'
import type { Link } from './link.ts'

interface Marked {
  readonly key: string
  readonly mark: string
}

/** `link` takes the question of each round, which as one statement needs no transaction. */
export function createChanges(link: Link, read: Reader['read']): Changes {
  const ask = async (statement: RawBuilder<Marked>): Promise<Map<string, string>> => {
    const { rows } = await read((db) => statement.execute(db))
    return byKey(rows)
  }
  return {
    // Each commit that takes ids under the lock of the lane raises its last id.
    async marksOf(ids) {
      const { connection } = await link.get()
      const text = 'SELECT lane AS key, last AS mark FROM lanes WHERE lane = ANY ($1)'
      return byKey((await connection.query<Marked>({ text, values: [ids] })).rows)
    },
    newestFor: (ids) =>
      ask(sql`
        select agent as key, newest.id as mark from unnest(${[...ids]}::text[]) as agent
        cross join lateral (
          select id from messages
          where inbox_agent_id = agent and acknowledged_at is null and offered_generation = 0
          order by id desc limit 1
        ) as newest`),
    rightsOf: (ids) =>
      ask(sql`
        select project as key, max(newest.id) as mark from unnest(${[...ids]}::text[]) as project
        cross join unnest(${kinds}::text[]) as asked
        cross join lateral (
          select id from audit where project_id = project and kind = asked order by id desc limit 1
        ) as newest
        group by project`),
  }
}

const byKey = (rows: readonly Marked[]): Map<string, string> =>
  new Map(rows.map(({ key, mark }) => [key, mark]))

/** A release opens a task again and sends a message to the creator only, so no message wakes the assignee. */
const kinds = ['pairing.enabled', 'pairing.disabled', 'project.state_changed', 'task.released']
