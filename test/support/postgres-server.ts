/**
 * Starts a PostgreSQL server for a run of the tests, if `BRIDGE_TEST_STORE=postgres` and
 * `BRIDGE_TEST_POSTGRES` names none. It needs the programs of PostgreSQL, as Debian installs them, or in the
 * folder that `BRIDGE_TEST_POSTGRES_BIN` names.
 *
 * PostgreSQL refuses to run as root, so root starts it as the user `postgres` or `nobody`.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, globSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { certificateChain } from './certificates.ts'

/**
 * Makes the files of the server in a folder of `parent`. Returns what ends the server. Sets `BRIDGE_TEST_POSTGRES`
 * and `BRIDGE_TEST_POSTGRES_BIN`.
 */
export async function startPostgres(parent: string): Promise<() => void> {
  const isAsked =
    process.env.BRIDGE_TEST_STORE === 'postgres' && process.env.BRIDGE_TEST_POSTGRES === undefined
  if (!isAsked) return () => {}
  const programs =
    process.env.BRIDGE_TEST_POSTGRES_BIN ?? globSync('/usr/lib/postgresql/*/bin').sort(byVersion).at(-1)
  if (programs === undefined) {
    throw new Error(
      'BRIDGE_TEST_STORE=postgres needs PostgreSQL: apt-get install postgresql, or BRIDGE_TEST_POSTGRES',
    )
  }
  const folder = mkdtempSync(join(parent, 'bridge-postgres-'))
  const run = runner(folder)
  const data = join(folder, 'data')
  const port = await freePort()
  run(join(programs, 'initdb'), [
    '-D',
    data,
    '-A',
    'trust',
    '-U',
    'postgres',
    '-E',
    'UTF8',
    '--locale=C.UTF-8',
    // Texts of a column that names no collation are then in the order of a dictionary.
    ...(versionOf(programs) >= 15 ? ['--locale-provider=icu', '--icu-locale=en-US'] : []),
  ])
  const control = join(programs, 'pg_ctl')
  const authority = await offerTls(folder, data)
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c max_connections=300 -c ssl=on`
  run(control, ['-D', data, '-o', options, '-l', join(folder, 'log'), '-w', 'start'])
  process.env.BRIDGE_TEST_POSTGRES_BIN = programs
  process.env.BRIDGE_TEST_POSTGRES_AUTHORITY = authority
  process.env.BRIDGE_TEST_POSTGRES = `postgres://postgres@127.0.0.1:${port}/postgres`
  return () => {
    run(control, ['-D', data, '-m', 'immediate', '-w', 'stop'])
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Gives the server a certificate for `localhost` only. Returns the file of its authority. */
async function offerTls(folder: string, data: string): Promise<string> {
  const chain = await certificateChain('database')
  const { cert, key } = await chain.server({ hosts: ['localhost'] })
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, chain.root.cert)
  const { uid, gid } = statSync(data)
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    writeFileSync(join(data, name), text, { mode: 0o600 })
    chownSync(join(data, name), uid, gid)
  }
  return authority
}

const byVersion = (one: string, other: string): number => versionOf(one) - versionOf(other)
const versionOf = (path: string): number => Number(/\/(\d+)\/bin$/.exec(path)?.[1] ?? 0)

function runner(folder: string): (program: string, given: readonly string[]) => void {
  if (userInfo().uid !== 0) return (program, given) => void execFileSync(program, given, { stdio: 'ignore' })
  const ids = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })))
  const [uid = 0, gid = 0] = ids
  chownSync(folder, uid, gid)
  chmodSync(folder, 0o755)
  return (program, given) => void execFileSync(program, given, { uid, gid, cwd: folder, stdio: 'ignore' })
}

/** The server is started with this port, so that the address is known before. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
