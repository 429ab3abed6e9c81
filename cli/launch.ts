/**
 * First file that `bridge` runs. It refuses a Node that is too old for the rest, and answers `bridge
 * --version`.
 *
 * It is built for Node 14 and loads nothing before the check, so that an old Node prints one line, not a
 * syntax error.
 */
import { version } from '../sdk/version.ts'
import { keepCompiled, loadKept } from './startup/compile-cache.ts'
import { startsHelper } from './startup/starts-helper.ts'
import { startsHook } from './startup/starts-hook.ts'

const needs = { major: 22, minor: 19 }
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < needs.major || (major === needs.major && minor < needs.minor)) {
  // Exit 2 of a hook would mean mail.
  process.exitCode = startsHook(process.argv.slice(2)) ? 0 : 2
  process.stderr.write(
    `bridge: needs Node ${needs.major}.${needs.minor} or newer, this is ${process.versions.node}\n`,
  )
} else if (startsHelper(process.argv.slice(2))) {
  void import('../helper/main.ts').then(({ runHelper }) => runHelper(process.argv.slice(3)))
} else if (startsHook(process.argv.slice(2))) {
  keepCompiled(process.env)
  // Without its code, as in the middle of an upgrade, a hook does nothing.
  void loadKept('hooks', () => import('./hooks/main.ts')).then(
    ({ hookMain }) => hookMain(process.argv.slice(4)),
    () => {},
  )
} else if (!isVersionPrinted(process.argv.slice(2))) {
  // A server starts rarely, and its account may not own a home folder, so it uses no compile cache.
  if (process.argv[2] !== 'server') keepCompiled(process.env)
  void import('./run.ts').then(({ runProcess }) => runProcess())
}

/**
 * Prints the version if the arguments ask for nothing else. Programs run `bridge --version` to test whether it
 * is installed, so it must be fast and loads no module.
 */
function isVersionPrinted([option, ...more]: readonly string[]): boolean {
  if ((option !== '--version' && option !== '-V') || more.length > 0) return false
  try {
    process.getBuiltinModule('node:fs').writeSync(1, `${version}\n`)
    return true
  } catch {
    // Closed pipe or full disk: the full program reports the failure.
    return false
  }
}
