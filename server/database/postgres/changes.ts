import { type RawBuilder, sql } from 'kysely'
import type { Changes } from '../changes.ts'
import type { Reader } from '../reader.ts'

interface Marked {
  readonly key: string
  readonly mark: string
}

export function createChanges(read: Reader['read']): Changes {
  const ask = async (statement: RawBuilder<Marked>): Promise<Map<string, string>> => {
    const { rows } = await read((db) => statement.execute(db))
    return new Map(rows.map(({ key, mark }) => [key, mark]))
  }
  return {
    // Each commit that takes ids under the lock of the lane raises its last id.
    marksOf: (ids) => ask(sql`select lane as key, last as mark from lanes where lane = any (${[...ids]})`),
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

const kinds = ['pairing.enabled', 'pairing.disabled', 'project.state_changed']
