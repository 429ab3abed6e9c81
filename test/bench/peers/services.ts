/**
 * The services for comparison with tasks, each a separate instance: on loopback, in a temporary folder, with
 * every commit synced before its answer. The instances of the machine's packages are not used.
 *
 * PostgreSQL refuses to run as root: then it, and the files that it writes, belong to its own user or to the
 * user nobody.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'

export interface Service {
  /** The address for a peer's program: a connection string or a port. */
  readonly at: string
  end(): Promise<void>
}

/** Finds a program, also outside the path where Debian installs PostgreSQL's. */
function find(name: string): string | undefined {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
  if (found !== '') return found
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return undefined
  const kept = readdirSync(versions).map((version) => join(versions, version, 'bin', name))
  return kept.filter((path) => existsSync(path)).at(-1)
}

export const hasPostgres = (): boolean => find('postgres') !== undefined && find('initdb') !== undefined
export const hasRedis = (): boolean => find('redis-server') !== undefined

/** The ids of the first of these users that exists. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find(([each]) => each === name) ?? []
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}

export async function startPostgres(under: string): Promise<Service> {
  const folder = join(under, 'postgres')
  mkdirSync(folder, { mode: 0o700 })
  const owner = unprivileged()
  if (owner !== undefined) {
    chownSync(folder, owner.uid, owner.gid)
    // The folder belongs to another user, who must be able to pass through the one above it.
    chmodSync(under, 0o711)
  }
  const as = { ...owner, cwd: folder, stdio: 'ignore' } as const
  const data = join(folder, 'data')
  execFileSync(
    find('initdb') ?? '',
    ['--pgdata', data, '--auth=trust', '--username=bench', '--encoding=UTF8'],
    as,
  )
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'fsync=on',
    'synchronous_commit=on',
  ]
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  const child = spawn(find('postgres') ?? '', args, as)
  await listening(child, port)
  return { at: `postgres://bench@127.0.0.1:${port}/postgres`, end: () => ended(child, 'SIGINT') }
}

export async function startRedis(under: string): Promise<Service> {
  const folder = join(under, 'redis')
  mkdirSync(folder, { mode: 0o700 })
  const port = await freePort()
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(find('redis-server') ?? '', args, { stdio: 'ignore' })
  await listening(child, port)
  return { at: String(port), end: () => ended(child, 'SIGTERM') }
}

/** PostgreSQL accepts connections shortly before it serves them, so its clients and this check retry. */
async function listening(child: ChildProcess, port: number): Promise<void> {
  for (let look = 0; look < 300; look += 1) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`)
    const socket = connect(port, '127.0.0.1')
    const open = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (open) return
    await pause(100)
  }
  throw new Error(`nothing listens on port ${port}`)
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/**
 * Installs the peers' packages, by their own lock file, into a folder that is removed with the measurement.
 */
export function installPeers(under: string): string {
  const folder = join(under, 'peers')
  mkdirSync(folder)
  for (const name of ['package.json', 'package-lock.json', 'graphile-worker.mjs', 'bullmq.mjs'])
    copyFileSync(join(import.meta.dirname, name), join(folder, name))
  const flags = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...flags], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return folder
}
