/**
 * The first file that `bridge` runs: refuses a Node that cannot run the rest.
 *
 * Built for Node 14 and loading nothing before the check, so that an old Node prints one line instead of a syntax error.
 */
const needs = { major: 22, minor: 19 }
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < needs.major || (major === needs.major && minor < needs.minor)) {
  process.exitCode = 2
  process.stderr.write(
    `bridge: needs Node ${needs.major}.${needs.minor} or newer, this is ${process.versions.node}\n`,
  )
} else {
  void import('./main.ts')
}

export {}
