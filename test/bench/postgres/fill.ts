/** Fills a PostgreSQL database with acknowledged messages, as the copies of one that a node stored. */
import type { TwoStores } from './world.ts'

const own: Readonly<Record<string, string>> = {
  id: "format('00000000-0000-7000-8000-%s', lpad(to_hex(n), 12, '0'))",
  root_id: "format('00000000-0000-7000-8000-%s', lpad(to_hex(n), 12, '0'))",
  sequence: '1000000 + n',
  acknowledged_at: 'm.created_at',
  offers: '1',
}

export async function fillMessages({ cluster }: Pick<TwoStores, 'cluster'>, count: number): Promise<void> {
  const columns = await cluster.query<{ name: string }>(
    "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'messages'",
  )
  const names = columns.map(({ name }) => name)
  const values = names.map((name) => own[name] ?? `m.${name}`)
  await cluster.query(
    `INSERT INTO messages (${names.join(', ')}) SELECT ${values.join(', ')}
      FROM (SELECT * FROM messages WHERE in_reply_to IS NULL LIMIT 1) AS m, generate_series(1, ${count}) AS n`,
  )
}
