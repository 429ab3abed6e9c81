/**
 * Installer of the client package. The line in an enrolment prompt checks the hash of the package and then runs this
 * file, the first of the package, on the unpacked bytes.
 *
 * It writes a sibling folder and renames it, so the folder `to` is complete or absent. Two installations at the same
 * time are safe: the first rename wins, and both folders have the same content. Contract §4, §11.
 */
declare const tar: Buffer
declare const to: string

const { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } = process.getBuiltinModule('node:fs')
const { dirname, join } = process.getBuiltinModule('node:path')

const launcher = join(to, process.platform === 'win32' ? 'agent-bridge.cmd' : 'agent-bridge')
const block = 512
const folder = 'package/'

interface Entry {
  readonly path: string
  readonly bytes: Buffer
}

/** Reads the entries of the archive, which is our own: plain files with short names. */
function* entries(): Generator<Entry> {
  for (let at = 0; tar[at] !== 0; ) {
    const field = (from: number, to: number) => tar.toString('utf8', at + from, at + to).replace(/\0.*$/s, '')
    const length = Number.parseInt(field(124, 136), 8)
    const begin = at + block
    yield { path: field(0, 100).slice(folder.length), bytes: tar.subarray(begin, begin + length) }
    at = begin + Math.ceil(length / block) * block
  }
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Starts the program with the Node that installed it. If that Node is gone, takes the one of PATH. */
const shellLauncher = () => `#!/bin/sh
node=${quoted(process.execPath)}
[ -x "$node" ] || node=node
exec "$node" ${quoted(join(to, 'agent-bridge.cjs'))} "$@"
`

function writeAll(into: string): void {
  for (const { path, bytes } of entries()) {
    mkdirSync(dirname(join(into, path)), { recursive: true, mode: 0o700 })
    writeFileSync(join(into, path), bytes)
  }
  // Its name tells the program how it was called, for the commands in its hints.
  writeFileSync(join(into, 'agent-bridge.cjs'), "require('./dist/bridge.cjs')\n")
  writeFileSync(join(into, 'agent-bridge'), shellLauncher(), { mode: 0o755 })
  const windows = `@"${process.execPath}" "%~dp0agent-bridge.cjs" %*\r\n`
  if (process.platform === 'win32') writeFileSync(join(into, 'agent-bridge.cmd'), windows)
}

function rename(from: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    // Another process was faster, or its launcher was deleted since.
    if (existsSync(launcher)) return
    if (!existsSync(to)) throw error
    rmSync(to, { recursive: true })
    renameSync(from, to)
  }
}

const temporary = `${to}.${process.pid}`
try {
  rmSync(temporary, { recursive: true, force: true })
  writeAll(temporary)
  rename(temporary)
} finally {
  rmSync(temporary, { recursive: true, force: true })
}
process.stdout.write(`installed ${launcher}\n`)
