/**
 * Builds the owner's page: its scripts and styles with a hash in each name, and the HTML that names them.
 *
 * A node that runs from source calls `portalFiles` at the first visit. The build of the package writes the same
 * files to `dist/portal.cjs`.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build, type Metafile, type Plugin, stop } from 'esbuild'
import { contractAsValues } from './esbuild.contract.ts'

/** A file with its compressed bytes in base64. */
export interface PortalFile {
  readonly name: string
  readonly type: string
  readonly br: string
  readonly gzip: string
}

const root = import.meta.dirname
const page = 'server/portal/page'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Builds the page for a node that runs from source. */
export async function portalFiles(): Promise<readonly PortalFile[]> {
  try {
    return (await buildPortal()).files
  } finally {
    await stop()
  }
}

export async function buildPortal(): Promise<{ files: readonly PortalFile[]; metafile: Metafile }> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { app: `${page}/main.tsx`, style: `${page}/style/page.css` },
    outdir: 'assets',
    entryNames: '[name].[hash]',
    chunkNames: 'part.[hash]',
    splitting: true,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    write: false,
    plugins: [contractAsValues(root, { forPage: true }), oneFirstPart],
  })
  const built = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]))
  const script = partWith(metafile, `${page}/main.tsx`)
  const icon = readFileSync(join(root, page, 'style/icon.svg'))
  built.set(`icon.${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`, icon)
  built.set('index.html', Buffer.from(html(script, [...built.keys()])))
  return { metafile, files: [...built].map(([name, contents]) => written(name, contents)) }
}

const written = (name: string, contents: Uint8Array): PortalFile => ({
  name,
  type: types[extname(name)] ?? 'application/octet-stream',
  br: brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).toString('base64'),
  gzip: gzipSync(contents, { level: 9 }).toString('base64'),
})

/**
 * Puts everything that the first load needs into one file.
 *
 * esbuild puts modules into one file if the same screens use them. So the first load would be in as many files as
 * there are sets of screens. A screen that is loaded later therefore imports the main module, so that all screens
 * share all of the first load.
 */
const oneFirstPart: Plugin = {
  name: 'one-first-part',
  setup({ onResolve, onLoad }) {
    const main = join(root, page, 'main.tsx')
    const later = new Set<string>()
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      if (kind === 'dynamic-import') later.add(join(resolveDir, path))
      return undefined
    })
    onLoad({ filter: /\.tsx$/ }, ({ path }) =>
      later.has(path)
        ? { contents: `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(main)}\n`, loader: 'tsx' }
        : undefined,
    )
  },
}

/** Returns the name of the output that contains a module. */
function partWith({ outputs }: Metafile, module: string): string {
  const found = Object.entries(outputs).find(([, { inputs }]) => module in inputs)
  if (found === undefined) throw new Error(`no output contains ${module}`)
  return basename(found[0])
}

function html(script: string, names: readonly string[]): string {
  const asset = (pattern: RegExp): string => `/assets/${names.find((name) => pattern.test(name))}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>bridge</title>
<link rel="icon" href="${asset(/^icon\./)}">
<link rel="stylesheet" href="${asset(/^style\..*css$/)}">
<script type="module" src="/assets/${script}"></script>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. The same is possible on the command line: bridge admin --help</noscript>
</body>
</html>
`
}
