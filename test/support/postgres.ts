/**
 * A PostgreSQL database for each data folder of a test, if the run asks for that store with
 * `BRIDGE_TEST_STORE=postgres`. `postgres-server.ts` starts the server of the run.
 */
import { hash } from 'node:crypto'
import pg from 'pg'
import { migrations } from '../../server/database/migrations/index.ts'
import { PostgresConnection } from '../../server/database/postgres/connection.ts'
import { migrate } from '../../server/database/postgres/migrate.ts'
import { sqliteWords } from './store-words.ts'

export const isOnPostgres = process.env.BRIDGE_TEST_STORE === 'postgres'

/** A run with `BRIDGE_MERGE_STATEMENTS=off` runs each unit of a group alone. */
const { BRIDGE_MERGE_STATEMENTS: merging } = process.env

/** The settings of a server on the database of a data folder. Empty if the run is on SQLite. */
export const storeSettings = (
  data: string,
): { readonly database?: string; readonly merge_statements?: string } =>
  isOnPostgres
    ? { database: databaseUrl(data), ...(merging !== undefined && { merge_statements: merging }) }
    : {}

/** The environment in which a command finds the database of the folder that it names with `--data`. */
export function storeEnvironment(args: readonly string[]): Readonly<Record<string, string>> {
  const data = args[args.indexOf('--data') + 1]
  const isNamed = args.includes('--data') && data !== undefined
  return isOnPostgres && isNamed ? { BRIDGE_DATABASE_URL: databaseUrl(data) } : {}
}

/** The variables by which a program finds a data folder and its database. */
export const hostEnvironment = (data: string): Readonly<Record<string, string>> => ({
  BRIDGE_DATA: data,
  ...storeEnvironment(['--data', data]),
})

/** Address of the database of a data folder. */
export const databaseUrl = (data: string): string => urlOf(nameOf(data))

const nameOf = (data: string): string => `bridge_${hash('sha256', data).slice(0, 24)}`

/** Made once per run, in the folder of the run. */
const template = `template_${hash('sha256', process.env.BRIDGE_TEST_DISK ?? '').slice(0, 16)}`

function urlOf(name: string): string {
  const url = new URL(process.env.BRIDGE_TEST_POSTGRES ?? '')
  url.pathname = `/${name}`
  return url.href
}

async function withServer<T>(act: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: process.env.BRIDGE_TEST_POSTGRES })
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}

/** Makes the database of a data folder, with its tables and its row of the installation. */
export async function makeDatabase(data: string, serverId: string): Promise<void> {
  await withServer(async (client) => {
    await client.query('SELECT pg_advisory_lock(1)')
    await makeTemplate(client)
    await client.query(`CREATE DATABASE ${nameOf(data)} TEMPLATE ${template}`)
  })
  await onDatabase(data, (client) =>
    client.query('INSERT INTO server (one, server_id, created_at) VALUES (1, $1, $2)', [
      serverId,
      new Date().toISOString(),
    ]),
  )
}

/** Makes a database without tables, for a test of creating an installation. On SQLite it does nothing. */
export async function makeEmptyDatabase(data: string): Promise<void> {
  if (isOnPostgres) await withServer((client) => client.query(`CREATE DATABASE ${nameOf(data)}`))
}

async function makeTemplate(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template])
  if (rowCount === 1) return
  await client.query(`CREATE DATABASE ${template}`)
  const connection = await PostgresConnection.open({ url: urlOf(template) })
  await migrate(connection, migrations, () => new Date())
  await connection.query({ text: laneTriggers })
  await connection.query({ text: sqliteWords })
  await connection.close()
}

/**
 * Refuses a row of a project that the node inserts without holding the lane of that project. The unit that
 * creates a project holds the lane of the node. Rows that a test inserts itself are not checked.
 */
const laneTriggers = `
  CREATE FUNCTION require_lane() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE lanes text[] := string_to_array(nullif(current_setting('bridge.lanes', true), ''), ' ');
  BEGIN
    IF current_setting('bridge.lanes', true) IS NULL OR NEW.project_id IS NULL
      OR NEW.project_id = ANY (lanes) OR (to_jsonb(NEW) ->> 'kind' = 'project.created' AND 'node' = ANY (lanes))
      THEN RETURN NEW; END IF;
    RAISE EXCEPTION 'a row of % is inserted outside its lane %; held: %', TG_TABLE_NAME, NEW.project_id, lanes;
  END $$;
  DO $$ DECLARE t text; BEGIN
    FOR t IN SELECT table_name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name = 'project_id' LOOP
      EXECUTE format('CREATE TRIGGER require_lane BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION require_lane()', t);
    END LOOP;
  END $$`

/** Runs queries on the database of a data folder. */
export async function onDatabase<T>(data: string, act: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl(data) })
  await client.connect()
  try {
    return await act(client)
  } finally {
    await client.end()
  }
}

export async function dropDatabase(data: string): Promise<void> {
  if (isOnPostgres)
    await withServer((client) => client.query(`DROP DATABASE IF EXISTS ${nameOf(data)} WITH (FORCE)`))
}
