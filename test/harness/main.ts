/**
 * `npm run test:harness`: real coding agents against a node and a scripted model, all on loopback. No
 * account, no tokens.
 *
 * It installs nothing. It finds the programs in the folders of `BRIDGE_HARNESS_BIN`, else in PATH, and names
 * their versions. Rows of a missing program are skipped by name. If `unshare` and `ip` are there, the rows
 * run in a network namespace that has only loopback.
 */
import { spawn, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findHarness, needed } from './programs.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const print = (line: string) => process.stdout.write(`${line}\n`)

for (const name of needed) {
  const found = findHarness(name)
  print(
    found === undefined
      ? `${name}: missing, its rows are skipped`
      : `${name}: ${found.version} at ${found.path}`,
  )
}

/**
 * Hides the `bwrap` of the system. Codex prefers it to its own, and version 0.8 of Debian 12 cannot start its
 * sandbox. The second way below has no mounts of its own, so the system refuses this there.
 */
const hideBwrap = '[ ! -e /usr/bin/bwrap ] || mount --bind /dev/null /usr/bin/bwrap 2>/dev/null || true'

/**
 * Lets every name fail at once. Codex otherwise waits 5 s at its end for the name server that it cannot reach.
 * The second way below cannot mount, and is only slower.
 */
const hideNames = `mount --bind "${root}/test/harness/resolv.conf" /etc/resolv.conf 2>/dev/null || true`

/** Runs a command with loopback as its only network. At its end, the first one ends every process in it. */
const ways = ['-rnpf --kill-child --mount-proc', '-rn'].map((options) => [
  ...['unshare', ...options.split(' ')],
  ...['sh', '-c', `ip link set lo up && { ${hideBwrap}; ${hideNames}; } && exec "$@"`, 'sh'],
])
const isolated = ways.find(([program = '', ...args]) => spawnSync(program, [...args, 'true']).status === 0)
print(
  isolated === undefined
    ? 'network: not isolated, because unshare or ip does not work here'
    : 'network: loopback only',
)

const vitest = [process.execPath, `${root}/node_modules/vitest/vitest.mjs`, 'run']
const [command = '', ...args] = [
  ...(isolated ?? []),
  ...vitest,
  '--config',
  'test/harness/vitest.config.ts',
  ...process.argv.slice(2),
]
// The sandbox of an agent hides files in memory, so the rows keep theirs on the disk.
const env = { ...process.env, TMPDIR: tmpdir() }
const child = spawn(command, args, { cwd: root, stdio: 'inherit', env })
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => child.kill(name))
child.once('close', (code) => {
  process.exitCode = code ?? 1
})
