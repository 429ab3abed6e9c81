/**
 * The import rules of `.github/CONTRIBUTING.md`: the source keeps them, and small faulty samples are
 * reported.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { breaches, mutualImports } from './import-rules.ts'
import { parseSource } from './source-imports.ts'

const root = join(import.meta.dirname, '../..')
const rules = { dependencies: Object.keys(manifest.dependencies) }

test('every source file keeps the import rules', () => {
  // The faulty samples below are strings that would be parsed as imports of this file.
  const paths = globSync('{sdk,server,helper,cli,examples,docs,test}/**/*.{ts,tsx}', { cwd: root })
    .filter((path) => path !== 'test/contract/imports.test.ts')
    .sort()
  const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
  expect(paths.length).toBeGreaterThan(50)
  expect(breaches(files, rules)).toEqual([])
  expect(mutualImports(files)).toEqual([])
})

test('the check finds two server files that import each other, also by types', () => {
  const both = {
    'server/a/one.ts': "import { two } from '../b/two.ts'\n",
    'server/b/two.ts': "import type { One } from '../a/one.ts'\n",
  }
  expect(mutualImports(both)).toEqual(['server/a/one.ts and server/b/two.ts import each other'])
  expect(mutualImports({ ...both, 'server/b/two.ts': "import type { One } from './one.ts'\n" })).toEqual([])
})

const wrong: readonly (readonly [path: string, text: string, says: string])[] = [
  ['sdk/contract/a.ts', "import { readFile } from 'node:fs'", 'the contract is schemas and constants'],
  [
    'sdk/contract/a.ts',
    "import type { Key } from '../signing/keys.ts'",
    'the contract is schemas and constants',
  ],
  ['sdk/parts/a.ts', "import { limits } from '../contract/limits.ts'", 'the part store is shared'],
  ['sdk/signing/a.ts', "import { call } from '../transport/http.ts'", 'signing is shared'],
  ['sdk/bridge.ts', "import { ApiError } from '../server/api-error.ts'", 'the SDK stands below'],
  ['sdk/transport/a.ts', "import { Agent } from 'undici'", 'load it with import() inside'],
  ['server/app.ts', "import { Gauge } from '@prometheus-io/client'", 'only server/metrics/registry.ts knows'],
  ['server/a.ts', "import { createMeters } from './metrics/registry.ts'", 'nobody scrapes does not load it'],
  [
    'sdk/transport/a.ts',
    "import {\n  Agent,\n  type Fetch,\n} from 'undici'",
    'load it with import() inside',
  ],
  ['server/a.ts', "import { Bridge } from '../sdk/bridge.ts'", 'the server shares sdk/contract'],
  ['server/a.ts', "const { gate } = await import('../helper/gate.ts')", 'the server shares sdk/contract'],
  ['server/a.ts', "import { io } from '../cli/io.ts'", 'the server shares sdk/contract'],
  ['server/a.ts', "import { test } from 'vitest'", 'stands under dependencies'],
  ['server/a.ts', "import '../test/support/bridge.ts'", 'the server shares sdk/contract'],
  ['helper/gate.ts', "import { Type } from 'typebox'", 'small enough to audit'],
  ['helper/gate.ts', "import { limits } from '../sdk/contract/limits.ts'", 'small enough to audit'],
  [
    'cli/commands/send.ts',
    "import { Bridge } from '../../sdk/index.ts'",
    'import its types with import type',
  ],
  ['cli/commands/send.ts', "import type { Bridge } from '../../sdk/bridge.ts'", 'uses the public index'],
  ['cli/commands/send.ts', "await import('../../server/main.ts')", 'only commands/server/ starts a server'],
  ['cli/commands/send.ts', "await import('../mcp/serve.ts')", 'only cli/mcp/command.ts serves MCP'],
  ['cli/program.ts', "await import('./mcp/serve.ts')", 'only cli/mcp/command.ts serves MCP'],
  [
    'cli/commands/server/start.ts',
    "import { start } from '../../../server/main.ts'",
    'load the rest with import()',
  ],
  ['cli/profile/profile.ts', "import Conf from 'conf'", 'load it with import() inside'],
  [
    'examples/talk/main.ts',
    "import { Bridge } from '../../sdk/bridge.ts'",
    'an example shows what a user can do',
  ],
  [
    'docs/generate.ts',
    "import { ada } from '../test/support/people.ts'",
    'nothing outside test imports test',
  ],
  [
    'test/support/process.ts',
    "import { startWorld } from '../server/endpoints/world.ts'",
    'test/support serves every folder of tests',
  ],
  ['test/support/tasks.ts', "import type { Vector } from '../vectors/vectors.ts'", 'and imports none'],
  [
    'test/cli/tasks.test.ts',
    "import { startWorld } from '../server/endpoints/world.ts'",
    'a folder of tests imports itself',
  ],
  [
    'test/server/tls.test.ts',
    "const { lab } = await import('../faults/lab/run.ts')",
    'move code that two folders share',
  ],
  [
    'server/portal/page/app.tsx',
    "import { pagePaths } from '../../http/page-paths.ts'",
    'a client like any other',
  ],
  ['server/portal/page/app.tsx', "import { Owner } from '../../../sdk/index.ts'", 'a client like any other'],
  ['server/tasks/actions.ts', "import { routes } from './routes.ts'", 'only app.ts registers routes'],
  ['server/tasks/actions.ts', "import type { FastifyRequest } from 'fastify'", 'knows nothing of HTTP'],
  ['server/tasks/actions/claim.ts', "import { route } from '../../route.ts'", 'knows nothing of HTTP'],
  [
    'server/tasks/owner-routes.ts',
    "import { routes } from '../agents/routes.ts'",
    'only app.ts registers routes',
  ],
  ['server/tasks/store.ts', "import { claim } from './actions.ts'", 'actions call stores'],
  ['server/tasks/rules.ts', "import { sql } from 'kysely'", 'rules are pure'],
  ['server/tasks/rules.ts', "import { findTask } from './store.ts'", 'rules are pure'],
  ['server/tasks/rules.ts', "import { hash } from 'node:crypto'", 'rules are pure'],
  ['server/database/reader.ts', "import { findTask } from '../tasks/store.ts'", 'the database knows no noun'],
  [
    'server/delivery/recheck.ts',
    "import type { Offer } from '../inbox/store.ts'",
    'server/inbox imports server/delivery',
  ],
  [
    'server/database/migrations/023_a.ts',
    "import type { A } from '../tables.ts'",
    'a migration imports nothing',
  ],
  ['server/database/migrations/index.ts', "import { open } from '../open.ts'", 'imports migrations only'],
  ['server/tasks/index.ts', "export * from './store.ts'", 're-exports hide'],
  ['sdk/resources/all.ts', "export { Tasks } from './tasks.ts'", 're-exports hide'],
  ['sdk/resources/all.ts', "export type { Task } from '../contract/agent/tasks.ts'", 're-exports hide'],
  ['server/http/log.ts', 'const level = process.env.LEVEL', 'reads the environment'],
  ['server/http/log.ts', "import { env } from 'node:process'", 'reads the environment'],
  ['server/tasks/actions.ts', 'const now = Date.now()', 'uses Date.now'],
  ['server/tasks/actions.ts', 'const now = new Date()', 'uses new Date()'],
  ['server/tasks/actions.ts', "import { hash, randomUUID } from 'node:crypto'", 'uses randomUUID'],
  ['sdk/agent/session.ts', 'const id = crypto.randomUUID()', 'uses crypto.randomUUID'],
  ['cli/commands/send.ts', 'if (Math.random() > 0.5) return', 'uses Math.random'],
  ['server/tasks/store.ts', 'const last = all.orderBy(sql`rowid`)', 'has a name in server/database/sql.ts'],
  ['server/tasks/store.ts', 'sql`likely(id > 1)`', 'uses likely('],
  ['server/tasks/store.ts', 'sql`+project_id = 1`', 'has a name in server/database/sql.ts'],
  ['server/database/page.ts', 'sql`rowid`', 'has a name in server/database/sql.ts'],
  ['server/tasks/store.ts', `sql\`where project_id is \${id}\``, 'only SQLite understands'],
  ['server/tasks/store.ts', 'sql`select least(a, b)`', 'only PostgreSQL understands'],
  ['server/tasks/store.ts', 'sql`select id from lanes for update`', 'only PostgreSQL understands'],
  ['server/database/sqlite/open.ts', 'sql`select a::text`', 'only PostgreSQL understands'],
  [
    'server/tasks/store.ts',
    "import type D from 'better-sqlite3'",
    'only server/database/sqlite/ knows SQLite',
  ],
  ['server/transfers/store.ts', "import { AwsClient } from 'aws4fetch'", 'knows an object store'],
]

describe('a faulty sample is reported with its remedy', () => {
  test.each(wrong)('%s with %s', (path, text, says) => {
    expect(breaches({ [path]: `${text}\n` }, rules)).toEqual([expect.stringContaining(says)])
  })
})

const right: readonly (readonly [path: string, text: string])[] = [
  ['sdk/contract/agent/tasks.ts', "import { type Static, Type } from 'typebox'"],
  ['sdk/transport/fetch.ts', "const { Agent } = await import('undici')"],
  ['server/server.ts', "const { createMeters } = await import('./metrics/registry.ts')"],
  ['sdk/transport/fetch.ts', "import type { Agent } from 'undici'\nlet a: typeof import('ws')"],
  ['sdk/delivery/socket.ts', "export const open = (): Promise<import('ws').WebSocket> => connect()"],
  ['server/transfers/actions.ts', "import { PartStore } from '../../sdk/parts/part-store.ts'"],
  ['helper/transfer.ts', "import { PartStore } from '../sdk/parts/parts.ts'"],
  ['server/transfers/actions.ts', "import { claim } from '../tasks/actions.ts'"],
  [
    'server/tasks/rules.ts',
    "import { ApiError } from '../api-error.ts'\nimport type { TaskRow } from './store.ts'",
  ],
  ['server/app.ts', "import { taskRoutes } from './tasks/routes.ts'"],
  ['server/tasks/store.ts', 'const last = all.orderBy(inOrder) // the rowid'],
  ['server/database/sql.ts', 'export const inOrder = sql<number>`rowid`'],
  ['server/database/postgres/group.ts', 'sql`select least(a, b) from lanes for update`'],
  ['server/tasks/store.ts', 'sql`where project_id is null`'],
  ['server/tasks/actions.ts', 'const at = new Date(claim.expires_at) // not Date.now()'],
  ['server/database/migrations/023_a.ts', 'export const sql = `CREATE TABLE a (b TEXT) STRICT;`'],
  ['cli/commands/server/start.ts', "const { startServer } = await import('../../../server/main.ts')"],
  ['cli/commands/send.ts', "import type { Bridge } from '../../sdk/index.ts'"],
  ['server/portal/page/app.tsx', "import { useState } from 'preact/hooks'"],
  ['test/support/people.ts', "import { startServer } from '../../server/main.ts'"],
  ['test/cli/helper.test.ts', "import { manifestOf } from '../helper/files.ts'"],
  ['test/cli/tasks.test.ts', "import { Desk } from '../support/desk.ts'"],
  ['test/faults/lab/load.ts', "import { startWorld } from '../../server/endpoints/world.ts'"],
]

describe('a correct sample passes', () => {
  test.each(right)('%s with %s', (path, text) => {
    expect(breaches({ [path]: `${text}\n` }, rules)).toEqual([])
  })
})

test('imports are read with their kind, and those in comments are not', () => {
  const text = [
    '/**',
    " * import { no } from './no.ts'",
    ' */',
    "import fs, { type Stats } from 'node:fs'",
    "import { type A, type B } from './a.ts'",
    "// export * from './no.ts'",
    "export { c } from '@scope/name/deep'",
    "const link = 'http://127.0.0.1' // import('./no.ts')",
    "await import('./d.ts')",
  ].join('\n')
  expect(
    parseSource('sdk/x/y.ts', text).imports.map(({ target, kind, isType }) => [target, kind, isType]),
  ).toEqual([
    ['node:fs', 'import', false],
    ['sdk/x/a.ts', 'import', true],
    ['@scope/name', 'export', false],
    ['sdk/x/d.ts', 'lazy', false],
  ])
})
