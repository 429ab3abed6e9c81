/**
 * Databases in which a migration stops after one of its commands, until the test lets it go on.
 *
 * An event trigger of PostgreSQL counts the commands of each step. So a step stops while it holds its locks and
 * has changed part of the schema. It either runs on and on there, or waits for a lock that the test holds.
 */
import type pg from 'pg'
import type { Migration } from '../../../../server/database/migrations/index.ts'
import { PostgresConnection } from '../../../../server/database/postgres/connection.ts'
import { migrate } from '../../../../server/database/postgres/migrate.ts'
import type { Cluster } from '../../../support/postgres-cluster.ts'

/** The command at which a step stops. `recorded` is the number of migrations before the step. */
export interface Stop {
  readonly recorded: number
  readonly command: number
  readonly way: 'runs' | 'waits'
}

export interface StoppingDatabase {
  readonly url: string
  query<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>
}

export const serverId = '00000000-0000-4000-8000-000000000001'

const lockNumber = 1
const pauses = `
CREATE SCHEMA testing;
CREATE TABLE testing.stop (recorded int, command int, way text);
CREATE TABLE testing.commands (recorded int, made int);
CREATE FUNCTION testing.pause() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
  done int;
  made int;
  place record;
BEGIN
  -- A step runs under this lock.
  IF NOT EXISTS (SELECT 1 FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock'
    AND relation = to_regclass('public.schema_migrations')) THEN RETURN; END IF;
  SELECT count(*) INTO done FROM public.schema_migrations;
  made := coalesce(nullif(current_setting('testing.made', true), ''), '0')::int + 1;
  PERFORM set_config('testing.made', made::text, true);
  INSERT INTO testing.commands VALUES (done, made);
  SELECT * INTO place FROM testing.stop WHERE recorded = done AND command = made;
  IF NOT FOUND THEN RETURN; END IF;
  IF place.way = 'waits' THEN PERFORM pg_advisory_xact_lock(${lockNumber}); END IF;
  WHILE EXISTS (SELECT 1 FROM testing.stop WHERE way = 'runs') LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
CREATE EVENT TRIGGER pause ON ddl_command_end EXECUTE FUNCTION testing.pause();
`

/** Makes databases that are empty, or that have the first `count` migrations and an installation. */
export class StoppingDatabases {
  readonly #cluster: Cluster
  readonly #migrations: readonly Migration[]
  #made = 0

  constructor(cluster: Cluster, migrations: readonly Migration[]) {
    this.#cluster = cluster
    this.#migrations = migrations
  }

  async make(count = 0): Promise<StoppingDatabase> {
    this.#made += 1
    const name = `installation_${this.#made}`
    await this.#cluster.query(`CREATE DATABASE ${name}`)
    const url = this.#cluster.url.replace(/postgres$/, name)
    const query: StoppingDatabase['query'] = (text, values) => this.#cluster.query(text, values, url)
    await query(pauses)
    if (count > 0) await this.#fill(url, count)
    return { url, query }
  }

  async #fill(url: string, count: number): Promise<void> {
    const connection = await PostgresConnection.open({ url })
    await migrate(connection, this.#migrations.slice(0, count), () => new Date())
    await connection.query({
      text: "INSERT INTO server (one, server_id, created_at) VALUES (1, $1, '2026-01-01T00:00:00.000Z')",
      values: [serverId],
    })
    await connection.close()
  }
}

export interface Held {
  /** Resolves once a step has stopped. */
  reached(): Promise<void>
  /** Lets the step go on. */
  release(): Promise<void>
}

/** Makes a step of the database stop. */
export async function stopAt(database: StoppingDatabase, { recorded, command, way }: Stop): Promise<Held> {
  await database.query('INSERT INTO testing.stop VALUES ($1, $2, $3)', [recorded, command, way])
  const holder = way === 'waits' ? await PostgresConnection.open({ url: database.url }) : undefined
  await holder?.query({ text: `SELECT pg_advisory_lock(${lockNumber})` })
  const event = way === 'waits' ? 'advisory' : 'PgSleep'
  return {
    async reached() {
      const text = 'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = $1'
      while ((await database.query(text, [event])).length === 0);
    },
    async release() {
      await database.query('DELETE FROM testing.stop')
      await holder?.close()
    },
  }
}

/** Returns how many commands the step after so many recorded migrations has. */
export async function commandsOf(database: StoppingDatabase): Promise<Map<number, number>> {
  const rows = await database.query<{ recorded: number; count: number }>(
    'SELECT recorded, max(made)::int AS count FROM testing.commands GROUP BY recorded ORDER BY recorded',
  )
  return new Map(rows.map(({ recorded, count }) => [recorded, count]))
}

/** Everything by which two schemas differ, and the rows that migrations write. */
export async function schemaOf(database: StoppingDatabase): Promise<string[]> {
  const rows = await database.query<{ line: string }>(`
    SELECT concat_ws(' ', table_name, column_name, data_type, collation_name, is_nullable, column_default) AS line
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', relname, relpersistence, reloptions::text) FROM pg_class
      WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT 'function ' || proname || ' ' || prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT 'migration ' || number || ' ' || name FROM schema_migrations
    UNION ALL SELECT 'oldest program ' || number FROM oldest_program`)
  return rows.map(({ line }) => line).sort()
}
