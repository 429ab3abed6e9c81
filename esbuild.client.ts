/**
 * Makes the client package that a node hands out: `bridge` without `server`, with the SDK and the helper, and with
 * every package that they need. Nothing is left to fetch, so one file from the node is the whole installation.
 *
 * `npm install` and `tar` take the file. Its first entry is `install.cjs`, which the line of an enrolment prompt runs.
 * The same sources give the same bytes: the node and its prompts name the file by its hash.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { constants, gzipSync } from 'node:zlib'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'

export interface ClientBuild {
  readonly root: string
  /** Folder that receives the package file. */
  readonly folder: string
  readonly launcher: BuildOptions
  /**
   * Options of the command line, the hooks, the SDK and the helper, without the plugin that leaves packages outside.
   */
  readonly cli: BuildOptions
  readonly hook: BuildOptions
  readonly reader: BuildOptions
  readonly sdk: BuildOptions
  readonly helper: BuildOptions
  /** Text with the licences of all packages in these bundles. */
  readonly licences: (metafiles: readonly Metafile[]) => string
}

/** Packages that are loaded when they are needed, each as a file of its own. `conf` has only a default export. */
const packages: Readonly<Record<string, string>> = {
  'age-encryption': "export * from 'age-encryption'",
  conf: "module.exports = require('conf').default",
  eventsource: "export * from 'eventsource'",
  'smol-toml': "export * from 'smol-toml'",
  undici: "module.exports = require('undici')",
  ws: "module.exports = require('ws')",
}

/** ws works without these two, which are compiled for one machine. */
const withoutWhich: readonly string[] = ['bufferutil', 'utf-8-validate']

/** `import()` of a package becomes `require` of its file. The name and the plugin's order are those of `boundary`. */
const packagesInside: Plugin = {
  name: 'packages-inside',
  setup({ onLoad, onResolve }) {
    const names = new RegExp(`^(${Object.keys(packages).join('|')})$`)
    onResolve({ filter: names }, ({ path }) => ({ path: `./packages/${path}.cjs`, namespace: 'package' }))
    onResolve({ filter: /./, namespace: 'package' }, ({ path }) => ({ path, external: true }))
    onLoad({ filter: /./, namespace: 'package' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}

/** The commands that run a node end with the reason why they are not there. */
const withoutServer = (root: string): Plugin => ({
  name: 'without-server',
  setup({ onResolve }) {
    onResolve({ filter: /\/server\/(server|up)\.ts$/ }, () => ({
      path: join(root, 'cli/commands/server/client-only.ts'),
    }))
  },
})

/** Builds the package and returns the name of its file. */
export async function buildClient(given: ClientBuild): Promise<string> {
  const { root, folder, launcher, cli, hook, reader, sdk, helper } = given
  const inside = (options: BuildOptions, ...first: Plugin[]): BuildOptions => ({
    ...options,
    minify: true,
    plugins: [...first, packagesInside, ...(options.plugins ?? [])],
  })
  const bundles = await Promise.all([
    bundle('bridge.cjs', launcher),
    bundle('cli.cjs', inside(cli, withoutServer(root))),
    bundle('hooks.cjs', inside(hook)),
    bundle('reader.cjs', inside(reader)),
    bundle('client.cjs', inside(sdk)),
    bundle('helper.cjs', inside(helper)),
    ...Object.entries(packages).map(([name, contents]) =>
      bundle(`packages/${name}.cjs`, packed(name, contents)),
    ),
  ])
  const files = new Set(bundles.map(({ file }) => `./${file}`))
  for (const { file, imports } of bundles) {
    const missing = imports.find(
      (path) => !isBuiltin(path) && !files.has(path) && !withoutWhich.includes(path),
    )
    if (missing !== undefined)
      throw new Error(`${file} imports ${missing}, which is not in the client package`)
  }
  const installer = await bundle('install.cjs', {
    ...helper,
    entryPoints: ['cli/startup/install.ts'],
    format: 'iife',
    minify: true,
  })
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  const text = (path: string) => readFileSync(join(root, path))
  const archive = tar([
    ['install.cjs', installer.bytes],
    ['package.json', Buffer.from(manifestOf(manifest))],
    ['LICENSE', text('LICENSE')],
    ['LICENSES.txt', Buffer.from(given.licences(bundles.map(({ metafile }) => metafile)))],
    ...bundles.map(({ file, bytes }) => [`dist/${file}`, bytes] as const),
    ...sdkFiles(Object.keys(await import('./sdk/index.ts'))),
  ])
  const bytes = gzipSync(archive, { level: constants.Z_BEST_COMPRESSION })
  const hash = createHash('sha256').update(bytes).digest('hex')
  const file = `agent-bridge-client-${manifest.version}-${hash.slice(0, 8)}.tgz`
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, file), bytes)
  return file

  function packed(name: string, contents: string): BuildOptions {
    const { plugins: _, entryPoints: __, ...options } = helper
    const external = [...withoutWhich]
    const stdin = { contents, resolveDir: root, sourcefile: `${name}.js`, loader: 'js' as const }
    return { ...options, minify: true, external, stdin }
  }
}

interface Bundle {
  readonly file: string
  readonly bytes: Uint8Array
  readonly metafile: Metafile
  readonly imports: readonly string[]
}

async function bundle(file: string, options: BuildOptions): Promise<Bundle> {
  const { metafile, outputFiles } = await build({ ...options, outfile: file, write: false, metafile: true })
  const [output] = outputFiles ?? []
  if (metafile === undefined || output === undefined) throw new Error(`esbuild made no ${file}`)
  const imports = Object.values(metafile.outputs).flatMap((each) => each.imports.map(({ path }) => path))
  return { file, bytes: output.contents, metafile, imports }
}

/** What `import` and `require` of the package get: the SDK of the command line, so that both share its classes. */
function sdkFiles(names: readonly string[]): (readonly [string, Buffer])[] {
  const list = names.filter((name) => name !== 'default').join(', ')
  const common = `const { ${list} } = require('../client.cjs')\nmodule.exports = { ${list} }\n`
  const module = `import sdk from './index.cjs'\nexport const { ${list} } = sdk\n`
  return [
    ['dist/sdk/index.cjs', Buffer.from(common)],
    ['dist/sdk/index.js', Buffer.from(module)],
  ]
}

function manifestOf({ name, version, description, license, engines, bin }: Record<string, unknown>): string {
  const exports = {
    '.': { import: './dist/sdk/index.js', require: './dist/sdk/index.cjs' },
    './package.json': './package.json',
  }
  return `${JSON.stringify({ name, version, description, license, type: 'module', engines, bin, exports }, null, 2)}\n`
}

const block = 512

/** An archive in the format `ustar` with the folder that npm expects. No entry has a time of its own. */
function tar(entries: readonly (readonly [path: string, bytes: Uint8Array])[]): Buffer {
  const pieces = entries.flatMap(([path, bytes]) => [
    headerOf(`package/${path}`, bytes.length),
    bytes,
    Buffer.alloc((block - (bytes.length % block)) % block),
  ])
  return Buffer.concat([...pieces, Buffer.alloc(2 * block)])
}

function headerOf(path: string, length: number): Buffer {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for the format ustar`)
  const header = Buffer.alloc(block)
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
  header.write(path, 0)
  header.write(`${octal(path.endsWith('/bridge.cjs') ? 0o755 : 0o644, 7)}\0`, 100)
  header.write(`${octal(0, 7)}\0${octal(0, 7)}\0`, 108)
  header.write(`${octal(length, 11)}\0${octal(0, 11)}\0`, 124)
  // The checksum counts its own field as spaces.
  header.write('        0', 148)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148)
  return header
}
