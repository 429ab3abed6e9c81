/**
 * Makes what is published: `npm run build` fills `dist`. Another folder can be named; `--no-types` leaves out the
 * declarations.
 *
 * - `bridge.cjs`: refuses an old Node, then loads `cli.cjs`, the whole command line in one file.
 * - `client.cjs`, `server.cjs`: loaded by the command line only when a command needs them.
 * - `hooks.cjs`: what a hook of a harness runs, which the launcher loads without the command line.
 * - `reader.cjs`: the part of the SDK that a hook loads to ask the node.
 * - `helper.cjs`: the transfer helper, which the launcher loads without the command line.
 * - `portal.cjs`: the owner's page, loaded by the server when the first visitor comes.
 * - `client/`: the client package that a node hands out; see esbuild.client.ts.
 * - `sdk/index.js`, `sdk/index.cjs` and their types: what `import` and `require` of the package get.
 * - `sdk/browser.js`: what `import` of `agent-bridge/browser` gets.
 *
 * Development needs none of it: every file runs as it stands. Why it is cut this way: docs/decisions/001-one-bundle.md.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, resolve } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { buildClient } from './esbuild.client.ts'
import { contractAsValues } from './esbuild.contract.ts'
import { licencesOf } from './esbuild.licences.ts'
import { buildPortal } from './esbuild.portal.ts'

const root = import.meta.dirname
const [named = join(root, 'dist')] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const out = resolve(named)

/** Packages of many small files that every start of a command would load: faster inside. All others stay outside. */
const bundledPackages = ['commander']

/**
 * Packages outside of the server's part: one with compiled code, one that only a server with an object store loads, and
 * four that others would use if they were installed, which we do not do. All others are inside, because a start finds
 * and reads one file sooner than hundreds.
 */
const outsideOfServer = [
  ...['better-sqlite3', 'undici'],
  ...['pg-native', 'bufferutil', 'utf-8-validate', 'supports-color'],
]

/** Modules that are bundles of their own; importing one of them lazily loads its file. */
const boundaries: Readonly<Record<string, string>> = {
  [join(root, 'cli/run.ts')]: './cli.cjs',
  [join(root, 'cli/hooks/main.ts')]: './hooks.cjs',
  [join(root, 'sdk/index.ts')]: './client.cjs',
  [join(root, 'sdk/program.ts')]: './client.cjs',
  [join(root, 'sdk/reader.ts')]: './reader.cjs',
  [join(root, 'server/main.ts')]: './server.cjs',
  [join(root, 'helper/main.ts')]: './helper.cjs',
  [join(root, 'esbuild.portal.ts')]: './portal.cjs',
}

const boundary: Plugin = {
  name: 'boundary',
  setup({ onLoad, onResolve }) {
    onResolve(
      { filter: /\/(main|run|index|program|reader|esbuild\.portal)\.ts$/ },
      ({ importer, kind, path, resolveDir }) => {
        const bundle = boundaries[resolve(resolveDir, path)]
        // The index is in the bundle of sdk/program.ts.
        const isInside = boundaries[importer] === bundle
        if (bundle === undefined || isInside || kind === 'entry-point') return undefined
        if (kind === 'dynamic-import') return { path: bundle, namespace: 'boundary' }
        return {
          errors: [{ text: `${path} is a bundle of its own: import it with import(), where it is used` }],
        }
      },
    )
    onResolve({ filter: /./, namespace: 'boundary' }, ({ path }) => ({ path, external: true }))
    // Node's own import() would read the file twice, and start the loader of ES modules for it.
    onLoad({ filter: /./, namespace: 'boundary' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}

/** Leaves packages outside. In the client package, another plugin takes them first. */
const outside: Plugin = {
  name: 'packages-outside',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
      kind === 'entry-point' || isOf(bundledPackages, path) ? undefined : { path, external: true },
    )
  },
}

const isOf = (packages: readonly string[], path: string): boolean =>
  packages.some((name) => path === name || path.startsWith(`${name}/`))

/** commander needs processes only for commands that are programs of their own, which it is never asked for. */
const withoutProcesses: Plugin = {
  name: 'without-processes',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:child_process$/ }, ({ importer, path }) =>
      /node_modules.commander/.test(importer) ? { path, namespace: 'lazy' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'lazy' }, ({ path }) => ({
      contents: `export default { spawn: (...all) => process.getBuiltinModule(${JSON.stringify(path)}).spawn(...all) }`,
    }))
  },
}

const common: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22.19',
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
  logOverride: { 'empty-import-meta': 'error', 'import-is-undefined': 'error' },
  define: { __BUILD__: JSON.stringify({ commit: commit(), built_at: new Date().toISOString() }) },
}

/** The parts of `bridge`. */
const program: BuildOptions = {
  ...common,
  format: 'cjs',
  define: { ...common.define, 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
  plugins: [boundary, withoutProcesses, outside],
}

/** Its lines stay as they are, so that the stack of an error in its log can be read. */
const server: BuildOptions = {
  ...program,
  entryPoints: ['server/main.ts'],
  external: outsideOfServer,
  // The wrapper of pg for ES modules repeats the names of its classes. esbuild would make them unique, and the log would
  // say `DatabaseError2`.
  alias: { pg: join(root, 'node_modules/pg/lib/index.js') },
  plugins: [boundary],
}

/** Parts whose reading is most of a short command's time. */
const quick: BuildOptions = { ...program, minifyWhitespace: true }

const library: BuildOptions = {
  ...common,
  entryPoints: ['sdk/index.ts'],
  plugins: [contractAsValues(root), outside],
}

/** For browsers esbuild refuses every `node:` module. */
const browser: BuildOptions = {
  ...common,
  entryPoints: ['sdk/browser.ts'],
  platform: 'browser',
  target: 'es2024',
  plugins: [contractAsValues(root, { forPage: true })],
}

const launcher: BuildOptions = {
  ...program,
  entryPoints: ['cli/launch.ts'],
  format: 'iife',
  target: 'node14',
  minify: true,
  banner: { js: '#!/usr/bin/env node' },
}

rmSync(out, { recursive: true, force: true })
const commands: BuildOptions = { ...quick, entryPoints: ['cli/run.ts'] }
const sdk: BuildOptions = {
  ...quick,
  entryPoints: ['sdk/program.ts'],
  plugins: [contractAsValues(root), boundary, outside],
}
const helper: BuildOptions = { ...quick, minify: true, entryPoints: ['helper/main.ts'] }
const hook: BuildOptions = {
  ...quick,
  entryPoints: ['cli/hooks/main.ts'],
  plugins: [contractAsValues(root), boundary, outside],
}
const reader: BuildOptions = { ...sdk, entryPoints: ['sdk/reader.ts'] }
const [cli, hooks, client, read, ...others] = await Promise.all([
  bundle('cli.cjs', commands),
  bundle('hooks.cjs', hook),
  bundle('client.cjs', sdk),
  bundle('reader.cjs', reader),
  bundle('server.cjs', server),
  bundle('helper.cjs', helper),
  bundle('bridge.cjs', launcher),
  bundle('sdk/index.js', { ...library, format: 'esm' }),
  bundle('sdk/index.cjs', { ...library, format: 'cjs' }),
  bundle('sdk/browser.js', { ...browser, format: 'esm' }),
])
chmodSync(join(out, 'bridge.cjs'), 0o755)
requireLight(
  'cli.cjs',
  cli,
  /^cli\/|^sdk\/(version|plain-text|contract\/spelling|profile\/profile-files|storage\/(lock|open-asks)|transport\/authorities)\.ts$|(^|\/)node_modules\/commander\/|^boundary:|^lazy:/,
)
requireLight(
  'hooks.cjs',
  hooks,
  /^cli\/(?!command|program|run\.ts)|^sdk\/(version|plain-text|contract\/[a-z-]+|profile\/profile-files|storage\/lock|transport\/authorities)\.ts$|^boundary:/,
)
requireLight('client.cjs', client, /^sdk\//)
requireLight(
  'reader.cjs',
  read,
  /^sdk\/((agent|contract|resources|signing|transport)\/|(reader|version)\.ts$)/,
)
const portal = await buildPortal()
const pageText = JSON.stringify(portal.files)
writeFileSync(join(out, 'portal.cjs'), `exports.portalFiles = async () => (${pageText})\n`)
await buildClient({
  root,
  folder: join(out, 'client'),
  launcher,
  cli: commands,
  hook,
  reader,
  sdk,
  helper,
  licences: (metafiles) => licencesOf(root, metafiles),
})
writeFileSync(
  join(out, 'LICENSES.txt'),
  licencesOf(root, [cli, hooks, client, read, ...others, portal.metafile]),
)
if (!process.argv.includes('--no-types')) declareTypes()
if (out === join(root, 'dist')) linkForNpx()

async function bundle(file: string, options: BuildOptions): Promise<Metafile> {
  const { metafile } = await build({ ...options, outfile: join(out, file) })
  if (metafile === undefined) throw new Error(`esbuild gave no metafile for ${file}`)
  return metafile
}

/** Every command pays for what these load at once: nothing of another bundle, no package from outside. */
function requireLight(file: string, { inputs }: Metafile, own: RegExp): void {
  for (const [path, input] of Object.entries(inputs)) {
    if (!own.test(path) && !path.startsWith('<define'))
      throw new Error(`${file} holds ${path}: import it with import(), from the folder's main.ts or index.ts`)
    const heavy = input.imports.find(
      (each) =>
        each.external && each.kind !== 'dynamic-import' && /^[@\w]/.test(each.path) && !isBuiltin(each.path),
    )
    if (heavy)
      throw new Error(`${file}: ${path} imports ${heavy.path} at once: use import() where it is needed`)
  }
}

/**
 * Declarations for `import` and again for `require`, each naming its neighbours by the endings that its reader resolves.
 * Types are checked by `npm run check`: without a check they are written in a sixth of the time.
 */
function declareTypes(): void {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = ['-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', out]
  execFileSync(process.execPath, [tsc, ...args], { stdio: 'inherit' })
  for (const file of globSync('sdk/**/*.d.ts', { cwd: out })) {
    const text = readFileSync(join(out, file), 'utf8')
    const naming = (ending: string): string =>
      text.replaceAll(/((?:from|import) ?\(?['"]\.[^'"]*)\.ts(?=['"])/g, `$1${ending}`)
    writeFileSync(join(out, file), naming('.js'))
    writeFileSync(join(out, file.replace(/ts$/, 'cts')), naming('.cjs'))
  }
}

/** `npx bridge` in a clone starts this link at once; without it npm first installs the clone as a package of its own. */
function linkForNpx(): void {
  const folder = join(root, 'node_modules/.bin')
  if (process.platform === 'win32' || !existsSync(folder)) return
  for (const name of ['bridge', 'agent-bridge']) {
    rmSync(join(folder, name), { force: true })
    symlinkSync('../../dist/bridge.cjs', join(folder, name))
  }
}

/** The commit that is built, marked when files differ from it; `unknown` where git cannot say. */
function commit(): string {
  const git = (...args: string[]) => spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' })
  const head = git('rev-parse', 'HEAD')
  if (!existsSync(join(root, '.git')) || head.status !== 0) return 'unknown'
  const changed = git('status', '--porcelain', '--untracked-files=no').stdout !== ''
  return head.stdout.trim() + (changed ? '-changed' : '')
}
