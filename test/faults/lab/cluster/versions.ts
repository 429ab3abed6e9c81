/**
 * Programs of several versions: the one before the newest migration, built from its commit, and programs that
 * have further migrations, made from the program of this run.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { label } from '../../../../server/database/migration-history.ts'
import { type Migration, migrations } from '../../../../server/database/migrations/index.ts'
import { builtFolder } from '../../../support/program.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** What a build reads. */
const sources = ['cli', 'helper', 'sdk', 'server', 'docs', 'package.json', 'LICENSE', 'CHANGELOG.md']

const git = (...args: string[]) => {
  const { status, stdout } = spawnSync('git', ['-C', root, ...args], {
    encoding: 'utf8',
    maxBuffer: 1024 ** 3,
  })
  return status === 0 ? stdout : undefined
}

/** The last commit without the newest migration. Undefined if this clone does not have it. */
export function commitBefore(newest = migrations.at(-1)): string | undefined {
  if (newest === undefined) return undefined
  const path = `server/database/migrations/${label(newest)}.ts`
  const added = git('log', '--diff-filter=A', '--format=%H', '--', path)?.trim()
  if (added === undefined) return undefined
  // A migration that is not committed yet is missing in the last commit.
  const commit = added === '' ? 'HEAD' : `${added.split('\n').at(-1)}^`
  return git('rev-parse', '--verify', '--quiet', `${commit}^{commit}`)?.trim()
}

/** A file of a commit. */
export const fileAt = (commit: string, path: string): string | undefined => git('show', `${commit}:${path}`)

/** Programs in a temporary folder, in which Node finds the packages of this clone. */
export class Versions {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bridge-versions-'))
  #made = 0

  constructor() {
    this.#linkPackages(this.#folder)
  }

  #linkPackages(folder: string): void {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  }

  /** Builds the program of a commit as it was published. Returns the file that `node` runs. */
  buildOf(commit: string): string {
    const folder = join(this.#folder, commit)
    const built = join(folder, 'built')
    mkdirSync(folder)
    const scripts = git('ls-tree', '--name-only', commit)?.match(/^esbuild\..*|^tsconfig\..*/gm) ?? []
    const archive = execFileSync('git', ['-C', root, 'archive', commit, ...sources, ...scripts], {
      maxBuffer: 1024 ** 3,
    })
    execFileSync('tar', ['-x', '-C', folder], { input: archive })
    this.#linkPackages(folder)
    execFileSync(process.execPath, ['esbuild.config.ts', built, '--no-types'], { cwd: folder })
    return join(built, 'bridge.cjs')
  }

  /** The program of this run with these migrations after its own. */
  withSteps(...steps: readonly Pick<Migration, 'name' | 'postgres'>[]): string {
    if (builtFolder === undefined) throw new Error('the program of this run is not built')
    this.#made += 1
    const folder = join(this.#folder, `further-${this.#made}`)
    cpSync(builtFolder, folder, { recursive: true })
    const file = join(folder, 'server.cjs')
    const newest = /\{ number: (\d+), name: "(\w+)", sql: \w+, postgres: \w+ \}(?=\s*\];)/
    const code = readFileSync(file, 'utf8')
    const [last = '', number, name] = newest.exec(code) ?? []
    if (name !== migrations.at(-1)?.name)
      throw new Error('the list of migrations is not found in the program')
    const further = steps.map((step, index) =>
      JSON.stringify({ number: Number(number) + index + 1, sql: 'SELECT 1', ...step }),
    )
    writeFileSync(
      file,
      code.replace(last, () => [last, ...further].join(', ')),
    )
    return join(folder, 'bridge.cjs')
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

type Step = Pick<Migration, 'name' | 'postgres'>

/** More than the installation has tables. The test checks that each table was changed. */
const mostTables = 64

/**
 * A migration for each table, as the product has them: one locks few tables. The migrations after the last
 * table change nothing.
 */
const forEachTable = (name: string, change: string): readonly Required<Step>[] =>
  Array.from({ length: mostTables }, (_, index) => ({
    name: `${name}_${index + 1}`,
    postgres: `DO $$ DECLARE each record; BEGIN
  FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename
    OFFSET ${index} LIMIT 1 LOOP
    EXECUTE format('ALTER TABLE %I ${change}', each.tablename);
  END LOOP;
END $$;`,
  }))

/** The column that the steps add to each table and remove again. */
const column = 'replaced'

/** Steps that older nodes serve beside: each table gets a column, which they neither read nor write. */
export const expand: readonly Step[] = forEachTable(
  'expand',
  `ADD COLUMN ${column} bigint NOT NULL DEFAULT 0`,
)

/**
 * Steps that remove what the program before `oldest` needs. The last one then makes each node know the migration
 * `oldest`.
 */
export const contract = (oldest: number): readonly Step[] =>
  forEachTable('contract', `DROP COLUMN ${column}`).map((step, index, { length }) =>
    index < length - 1
      ? step
      : { ...step, postgres: `${step.postgres} UPDATE oldest_program SET number = ${oldest};` },
  )

/** The tables that have the column, and those that lack it. */
export const columnOfTables = `SELECT
    coalesce(array_agg(tablename::text) FILTER (WHERE has), '{}') AS having,
    coalesce(array_agg(tablename::text) FILTER (WHERE NOT has), '{}') AS lacking
  FROM (SELECT tablename, EXISTS (
      SELECT FROM information_schema.columns
      WHERE table_schema = schemaname AND table_name = tablename AND column_name = '${column}'
    ) AS has FROM pg_tables WHERE schemaname = 'public') AS each_table`
