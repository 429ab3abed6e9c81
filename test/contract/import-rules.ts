/**
 * Import rules, and the files that may use the environment, the clock and randomness.
 *
 * Each rule checks one file and reports the fault and its remedy. `.github/CONTRIBUTING.md` has the same
 * rules in words.
 */
import { type Import, parseSource, type SourceFile } from './source-imports.ts'

export interface ImportRules {
  /** The names of `dependencies` in package.json. */
  readonly dependencies: readonly string[]
}

type Rule = (file: SourceFile, rules: ImportRules) => readonly string[]

/** Returns one sentence per breach; `files` maps each path to its text. */
export function breaches(files: Readonly<Record<string, string>>, rules: ImportRules): string[] {
  return Object.entries(files).flatMap(([path, text]) => {
    const file = parseSource(path, text)
    return everyRule.flatMap((rule) => rule(file, rules)).map((sentence) => `${path} ${sentence}`)
  })
}

/** Returns pairs of server files that import each other. Biome reports cycles too, except those of types. */
export function mutualImports(files: Readonly<Record<string, string>>): string[] {
  const targets = new Map(
    Object.entries(files)
      .filter(([path]) => path.startsWith('server/'))
      .map(([path, text]) => [path, parseSource(path, text).imports.map(({ target }) => target)]),
  )
  return [...targets].flatMap(([path, imported]) =>
    imported
      .filter((target) => path < target && targets.get(target)?.includes(path))
      .map((target) => `${path} and ${target} import each other`),
  )
}

/** A rule on single imports: `judge` returns the end of the sentence if the import breaks it. */
const perImport =
  (judge: (path: string, each: Import, rules: ImportRules) => string | undefined): Rule =>
  (file, rules) =>
    file.imports.flatMap((each) => {
      const objection = judge(file.path, each, rules)
      return objection === undefined ? [] : [`imports ${each.target}: ${objection}`]
    })

interface Layer {
  readonly files: RegExp
  /** Allowed paths, `node:` modules and packages. */
  readonly may: RegExp
  readonly because: string
}

/** The first layer that matches a file applies. */
const layers: readonly Layer[] = [
  {
    files: /^sdk\/contract\//,
    may: /^(sdk\/contract\/|typebox$)/,
    because: 'the contract is schemas and constants; it imports the schema library and itself only',
  },
  {
    files: /^sdk\/signing\//,
    may: /^(sdk\/(contract|signing)\/|node:)/,
    because: 'signing is shared by client and server; it imports the contract and node: only',
  },
  {
    files: /^sdk\/parts\//,
    may: /^(sdk\/(contract\/helper|parts)\/|node:)/,
    because: 'the part store is shared by helper, server and client; it imports its contract and node: only',
  },
  {
    files: /^sdk\//,
    may: /^(sdk\/|node:|(typebox|undici|ws|eventsource|age-encryption)$)/,
    because: 'the SDK stands below server, cli and helper and knows none of them',
  },
  {
    files: /^server\/portal\/page\//,
    may: /^(server\/portal\/page\/|sdk\/(browser|audit-export|contract\/audit-kinds)\.ts$|(preact|preact-iso|@preact\/signals)$)/,
    because:
      'the page is a client like any other: sdk/browser.ts, sdk/audit-export.ts, the list of audit kinds, Preact and its own files',
  },
  {
    files: /^server\//,
    may: /^(server\/|sdk\/(contract|signing|parts)\/|sdk\/version\.ts$|node:|[^/]+$|@)/,
    because: 'the server shares sdk/contract, sdk/signing and the part store sdk/parts, nothing else',
  },
  {
    files: /^helper\//,
    may: /^(helper\/|sdk\/(contract\/helper|parts)\/|node:)/,
    because:
      'the helper is small enough to audit: node:, its own files, sdk/contract/helper and sdk/parts only',
  },
  {
    files: /^cli\//,
    may: /^(cli\/|sdk\/(index|program|reader|version|plain-text|contract\/spelling|profile\/profile-files|storage\/(lock|open-asks)|transport\/authorities)\.ts$|(server|helper)\/main\.ts$|node:|(commander|conf|smol-toml)$)/,
    because:
      'the command line uses the public index of the SDK, sdk/program.ts, commander, conf and smol-toml, and its hooks sdk/reader.ts',
  },
  {
    files: /^examples\//,
    may: /^(examples\/|sdk\/index\.ts$|node:)/,
    because: 'an example shows what a user can do: the public index of the SDK only',
  },
  {
    files: /^docs\//,
    may: /^(?!test\/)/,
    because: 'nothing outside test imports test',
  },
]

const layer = perImport((path, { target }) => {
  const found = layers.find(({ files }) => files.test(path))
  return found === undefined || found.may.test(target) ? undefined : found.because
})

const heavy = /^(undici|ws|eventsource|age-encryption|conf|smol-toml)$/
const doors: readonly { readonly target: RegExp; readonly from: RegExp }[] = [
  { target: /^sdk\/(index|program)\.ts$/, from: /^cli\// },
  { target: /^sdk\/reader\.ts$/, from: /^cli\/hooks\/node\.ts$/ },
  { target: /^server\/main\.ts$/, from: /^cli\/commands\/server\// },
  { target: /^helper\/main\.ts$/, from: /^cli\/(commands\/helper\/|launch\.ts$)/ },
]

/** Static imports add to the start time of every command. */
const lazily = perImport((path, { target, kind, isType }) => {
  if (!/^(sdk|cli)\//.test(path) || isType) return undefined
  const isLazy = kind === 'lazy'
  if (heavy.test(target) && !isLazy) return 'load it with import() inside the function that needs it'
  const door = path.startsWith('cli/') && doors.find((each) => each.target.test(target))
  if (!door) return undefined
  if (!door.from.test(path))
    return 'only commands/server/ starts a server; only launch.ts and commands/helper/ start a helper; only hooks/node.ts uses the reader of the hooks'
  return isLazy
    ? undefined
    : 'import its types with import type, and load the rest with import() where it is needed'
})

const tools = perImport((path, { target }) =>
  path.startsWith('cli/') &&
  !path.startsWith('cli/mcp/') &&
  target.startsWith('cli/mcp/') &&
  !(path === 'cli/program.ts' && target === 'cli/mcp/command.ts')
    ? 'only cli/mcp/command.ts serves MCP, and only program.ts loads it'
    : undefined,
)

const metrics = perImport((path, { target, kind, isType }) => {
  if (!path.startsWith('server/') || isType) return undefined
  if (target === '@prometheus-io/client' && path !== 'server/metrics/registry.ts')
    return 'only server/metrics/registry.ts knows the library of metrics'
  return target === 'server/metrics/registry.ts' && kind !== 'lazy'
    ? 'a server that nobody scrapes does not load it: use import()'
    : undefined
})

const shipped = perImport((path, { target, isType }, { dependencies }) => {
  const isPackage = !target.startsWith('node:') && !/\.[a-z]+$/.test(target)
  if (!/^(sdk|server|helper|cli)\//.test(path) || isType || !isPackage) return undefined
  // The bundle of the page contains its packages.
  if (path.startsWith('server/portal/page/')) return undefined
  return dependencies.includes(target)
    ? undefined
    : 'what runs after an install stands under dependencies in package.json'
})

type Role = 'routes' | 'actions' | 'rules' | 'store' | 'database' | 'http' | 'none'

function roleOf(path: string): Role {
  if (/^server\/database\//.test(path)) return 'database'
  if (/^server\/(http\/|route\.ts$)/.test(path) || path === 'fastify' || path.startsWith('@fastify/'))
    return 'http'
  const name = /^server\/(?:[^/]+\/)+?(?:owner-)?(routes|actions|rules|store)(?:\.ts$|\/)/.exec(path)?.[1]
  return (name as Role | undefined) ?? 'none'
}

const never: Readonly<Partial<Record<Role, { readonly roles: readonly Role[]; readonly because: string }>>> =
  {
    actions: {
      roles: ['routes', 'http'],
      because: 'an action knows nothing of HTTP: routes call actions, never backwards',
    },
    store: {
      roles: ['routes', 'http', 'actions'],
      because: 'a store is SQL: actions call stores, never backwards',
    },
    database: {
      roles: ['routes', 'http', 'actions', 'rules', 'store'],
      because: 'the database knows no noun: stores call it, never backwards',
    },
  }

/** routes → actions → rules, store → database. */
const roles = perImport((path, { target, isType }) => {
  if (!path.startsWith('server/')) return undefined
  const [from, to] = [roleOf(path), roleOf(target)]
  if (to === 'routes' && path !== 'server/app.ts') return 'only app.ts registers routes'
  if (from === 'rules') {
    const isRow = isType && (to === 'store' || /^server\/database\/(\w+-)?tables\.ts$/.test(target))
    const may =
      isRow ||
      to === 'rules' ||
      /^server\/(api-error|retry-after)\.ts$/.test(target) ||
      target.startsWith('sdk/contract/')
    return may ? undefined : 'rules are pure: the contract, ApiError, other rules, and the type of a row'
  }
  return never[from]?.roles.includes(to) ? never[from].because : undefined
})

/**
 * The inbox delivers messages to clients through waits and notifications, which do not depend on messages.
 */
const delivery = perImport((path, { target }) =>
  path.startsWith('server/delivery/') && target.startsWith('server/inbox/')
    ? 'server/inbox imports server/delivery, never backwards'
    : undefined,
)

const migrations = perImport((path, { target }) => {
  if (!path.startsWith('server/database/migrations/')) return undefined
  if (!path.endsWith('/index.ts'))
    return 'a migration imports nothing, so that code of today cannot change the past'
  return target.startsWith('server/database/migrations/')
    ? undefined
    : 'the list of migrations imports migrations only'
})

/** Folders of `test` that a folder may import besides itself and `support`. */
const sharedTests: Readonly<Record<string, readonly string[]>> = {
  cli: ['helper'],
  contract: ['server'],
  faults: ['server'],
  sdk: ['vectors'],
  server: ['vectors'],
}

const testFolderOf = (path: string): string | undefined => /^test\/([^/]+)\//.exec(path)?.[1]

const testFolders = perImport((path, { target }) => {
  const [from, to] = [testFolderOf(path), testFolderOf(target)]
  if (from === undefined || to === undefined || from === to || to === 'support') return undefined
  if (from === 'support') return 'test/support serves every folder of tests and imports none'
  return sharedTests[from]?.includes(to)
    ? undefined
    : 'a folder of tests imports itself and support; move code that two folders share to test/support'
})

/** The files through which other folders use a folder. */
const publicFiles = [
  'sdk/index.ts',
  'sdk/browser.ts',
  'sdk/program.ts',
  'sdk/reader.ts',
  'sdk/contract/index.ts',
  'server/main.ts',
  'helper/main.ts',
]

const barrels = perImport((path, { kind, target, isType }) => {
  if (kind !== 'export' || publicFiles.includes(path) || /^(test|docs)\//.test(path)) return undefined
  const isNeighbour = target.slice(0, target.lastIndexOf('/')) === path.slice(0, path.lastIndexOf('/'))
  return isType && isNeighbour
    ? undefined
    : `re-exports hide where a thing is defined; only ${publicFiles.join(', ')} may`
})

const product = /^(sdk|server|helper|cli)\//

const readsEnvironment: Readonly<Record<string, string>> = {
  'server/config.ts': 'the settings of the server',
  'helper/options.ts': 'the token of the helper',
  'cli/create-context.ts': 'everything from outside that a command may reach',
  'cli/hooks/main.ts': 'everything from outside that a hook may reach',
  'cli/launch.ts': 'where what was compiled is kept, before anything is loaded',
  'sdk/profile/profile.ts': 'which profile a script means that does not say',
}

const environment: Rule = ({ path, code, imports }) => {
  const reads = /\bprocess\.env\b/.test(code) || imports.some(isEnvironment)
  if (!product.test(path) || !reads || path in readsEnvironment) return []
  return [`reads the environment: only ${Object.keys(readsEnvironment).join(', ')} do, and hand values on`]
}

const isEnvironment = ({ target, clause }: Import): boolean =>
  target === 'node:process' && /\benv\b/.test(clause)

/** The files that create a clock and randomness; all others receive them as parameters. */
const makesChance: Readonly<Record<string, string>> = {
  'server/context.ts': 'the clocks and randomness of a running server',
  'server/host/init.ts': 'the context of the commands that work on a stopped server',
  'cli/create-context.ts': 'the context of a command',
  'cli/hooks/main.ts': 'the context of a hook',
  'helper/main.ts': 'the context of a helper',
  'sdk/bridge.ts': 'defaults of the options of Bridge',
  'sdk/owner/owner.ts': 'defaults of the options of Owner',
  'sdk/browser.ts': 'randomness of a page',
  'server/portal/page/clock.ts': 'the clocks and randomness of the page',
  'sdk/profile/profile.ts': 'defaults of the options of openProfile()',
  'sdk/agent/enroll.ts': 'defaults of the options of enroll()',
  'sdk/node-status.ts': 'defaults of the options of nodeStatus()',
  'sdk/transfers/wire/part-retry.ts': 'defaults of the options of transfers',
  'sdk/storage/durable-file.ts': 'names of drafts, which nobody sees',
}

const chanceCalls =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\.now\b|\bprocess\.hrtime\b|\bcrypto\.(random|getRandom)\w+/
const chanceNames = /\b(random(Bytes|UUID|Int|Fill|FillSync)|getRandomValues|webcrypto)\b/

const chance: Rule = ({ path, code, imports }) => {
  if (!product.test(path) || path in makesChance) return []
  const call = chanceCalls.exec(code)?.[0]
  const name = imports.flatMap(({ target, clause }) =>
    target === 'node:crypto' ? (chanceNames.exec(clause)?.[0] ?? []) : [],
  )[0]
  const used = call ?? name
  return used === undefined
    ? []
    : [`uses ${used}: take the clock or randomness from the context or the options`]
}

const sqliteWords =
  /\b(?:likely|ifnull|julianday|octet_length|strftime)\(|`\+[\w$]|\browid\b|\b(?:where|and|or) [\w.]+ is (?:not )?\$\{/
const postgresWords =
  /\b(?:unnest|least|greatest|string_agg|pg_[a-z_]+)\(|\bskip locked\b|\bfor update\b|\bextract\(epoch|`[^`]*::(?:text|int|bigint|jsonb)\b/i

/** Files that may know SQLite: its side of the database, the fragments, and the backups of its file. */
const knowsSqlite = /^server\/(database\/(sqlite\/|migrations\/|sql\.ts$)|host\/)/

/** Files that may know PostgreSQL. */
const knowsPostgres = /^server\/database\/(postgres\/|sql\.ts$)/

/** There are two databases, so the SQL that only one understands is in one folder and one file. */
const portableSql: Rule = ({ path, code }) => {
  if (!path.startsWith('server/')) return []
  const sqlite = knowsSqlite.test(path) || knowsPostgres.test(path) ? undefined : sqliteWords.exec(code)?.[0]
  const postgres = knowsPostgres.test(path) ? undefined : postgresWords.exec(code)?.[0]
  const faults: [used: string | undefined, database: string][] = [
    [sqlite, 'SQLite'],
    [postgres, 'PostgreSQL'],
  ]
  return faults.flatMap(([used, database]) =>
    used === undefined
      ? []
      : [`uses ${used}: SQL that only ${database} understands has a name in server/database/sql.ts`],
  )
}

/** Each driver is known to the folder of its database or store only. */
const drivers = perImport((path, { target }) => {
  if (!path.startsWith('server/')) return undefined
  if (target === 'better-sqlite3' && !knowsSqlite.test(path))
    return 'only server/database/sqlite/ knows SQLite'
  if (target === 'pg' && !path.startsWith('server/database/postgres/'))
    return 'only server/database/postgres/ knows PostgreSQL'
  if (target === 'aws4fetch' && !path.startsWith('server/package-store/objects/'))
    return 'only server/package-store/objects/ knows an object store'
  return undefined
})

const everyRule: readonly Rule[] = [
  layer,
  lazily,
  tools,
  metrics,
  shipped,
  roles,
  delivery,
  migrations,
  testFolders,
  barrels,
  environment,
  chance,
  portableSql,
  drivers,
]
