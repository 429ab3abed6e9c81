/**
 * The first file that `bridge` runs: refuses a Node that cannot run the rest, and answers `bridge --version` by itself.
 *
 * Built for Node 14 and loading nothing before the check, so that an old Node prints one line instead of a syntax error.
 */
import { version } from '../sdk/version.ts'
import { keepCompiled } from './startup/compile-cache.ts'
import { startsHelper } from './startup/starts-helper.ts'

const needs = { major: 22, minor: 19 }
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < needs.major || (major === needs.major && minor < needs.minor)) {
  process.exitCode = 2
  process.stderr.write(
    `bridge: needs Node ${needs.major}.${needs.minor} or newer, this is ${process.versions.node}\n`,
  )
} else if (startsHelper(process.argv.slice(2))) {
  void import('../helper/main.ts').then(({ runHelper }) => runHelper(process.argv.slice(3)))
} else if (!isVersionPrinted(process.argv.slice(2))) {
  // A node runs for long, and under accounts whose folders are not theirs to fill.
  if (process.argv[2] !== 'server') keepCompiled(process.env)
  void import('./main.ts')
}

/** Programs ask for the version to learn whether `bridge` is there: it costs no more than starting Node. */
function isVersionPrinted([option, ...more]: readonly string[]): boolean {
  if ((option !== '--version' && option !== '-V') || more.length > 0) return false
  try {
    process.getBuiltinModule('node:fs').writeSync(1, `${version}\n`)
    return true
  } catch {
    // Nobody reads it, or the disk is full: the whole program knows what to say of that.
    return false
  }
}
