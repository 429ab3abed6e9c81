/**
 * A PostgreSQL cluster of one test: it can be killed, suspended, copied to a standby and promoted.
 *
 * It needs the programs of PostgreSQL, as Debian installs them. PostgreSQL refuses to run as root, so root
 * runs it as the user `postgres`.
 */
import { type CommonSpawnOptions, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'

const programs = globSync('/usr/lib/postgresql/*/bin').sort().at(-1)

/** Whether this machine has PostgreSQL. */
export const hasPostgres = programs !== undefined && process.platform === 'linux'

/** Folders for the data and for the WAL of a cluster, which may be on disks of their own. */
export interface Disks {
  readonly data?: string
  readonly wal?: string
}

/** Time in which the processes of a server notice that the first one is gone. */
const noticeMs = 3000

const names = "SELECT current_setting('synchronous_standby_names') AS names"

export class Cluster {
  /** The superuser `postgres` in the database `postgres`. */
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly data: string

  readonly #wal: string | undefined

  private constructor(folder: string, port: number, wal?: string) {
    this.folder = folder
    this.#wal = wal
    this.data = join(folder, 'data')
    this.port = port
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
  }

  /**
   * Makes and starts a cluster. `settings` are lines of `postgresql.conf`, `access` the first of
   * `pg_hba.conf`.
   */
  static async start(
    settings: readonly string[] = [],
    access: readonly string[] = [],
    on: Disks = {},
  ): Promise<Cluster> {
    const wal = on.wal === undefined ? undefined : makeFolder(on.wal)
    const cluster = new Cluster(makeFolder(on.data), await freePort(), wal)
    cluster.#run('initdb', [
      '-D',
      cluster.data,
      '-N',
      '-A',
      'trust',
      '-U',
      'postgres',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--data-checksums',
      ...(wal === undefined ? [] : ['-X', wal, '--wal-segsize=1']),
    ])
    cluster.configure([
      `port = ${cluster.port}`,
      "unix_socket_directories = ''",
      "listen_addresses = '127.0.0.1'",
      ...settings,
    ])
    const rules = join(cluster.data, 'pg_hba.conf')
    writeFileSync(rules, `${access.join('\n')}\n${readFileSync(rules, 'utf8')}`)
    await cluster.start()
    return cluster
  }

  /**
   * Makes and starts a copy that follows this cluster as the standby `standby`. It takes a second or more, in which
   * this process goes on. `through` is the port of a proxy that leads to this cluster.
   */
  async startStandby(through = this.port): Promise<Cluster> {
    const standby = new Cluster(makeFolder(), await freePort())
    const from = `host=127.0.0.1 port=${through} user=postgres application_name=standby`
    await standby.#runAside('pg_basebackup', ['-d', from, '-D', standby.data, '-R', '-c', 'fast', '-N'])
    standby.configure([`port = ${standby.port}`, "unix_socket_directories = ''"])
    await standby.start()
    return standby
  }

  /** Resolves once every commit waits for the standby of this name. */
  async requireStandby(name = 'standby'): Promise<void> {
    this.configure([`synchronous_standby_names = '${name}'`])
    this.reload()
    const shown = async () => (await this.query<{ names: string }>(names))[0]?.names
    while ((await shown()) !== name) await sleep(20)
    // The checkpointer switches the waiting on. It reads its settings before it begins a checkpoint.
    await this.query('CHECKPOINT')
  }

  configure(lines: readonly string[]): void {
    appendFileSync(join(this.data, 'postgresql.conf'), `\n${lines.join('\n')}\n`)
  }

  /** Starts the server. Resolves once it accepts connections. This process goes on meanwhile. */
  async start(): Promise<void> {
    try {
      await this.#runAside('pg_ctl', this.#starting)
    } catch (error) {
      throw new Error(this.logEnd, { cause: error })
    }
  }

  /** The end of what the server has logged. */
  get logEnd(): string {
    return readFileSync(this.#log, 'utf8').slice(-2000)
  }

  /** Resolves once the server has logged this text after the call. Costs the server nothing. */
  async untilLogged(text: string): Promise<void> {
    const { size: from } = statSync(this.#log)
    const file = await open(this.#log)
    try {
      for (let logged = ''; !logged.includes(text); await sleep(20)) {
        const bytes = Buffer.alloc((await file.stat()).size - from)
        await file.read(bytes, 0, bytes.length, from)
        logged = bytes.toString()
      }
    } finally {
      await file.close()
    }
  }

  get #log(): string {
    return join(this.folder, 'log')
  }

  get #starting(): readonly string[] {
    return ['-D', this.data, '-l', this.#log, '-w', '-s', 'start']
  }

  /** Stops the server, which writes all pages into their files first. */
  stop(): void {
    this.#run('pg_ctl', ['-D', this.data, '-m', 'fast', '-w', '-s', 'stop'])
  }

  /** Lets the server read its settings again. It does so a moment later. */
  reload(): void {
    signal(this.#pids().slice(0, 1), 'SIGHUP')
  }

  /** Resolves once the server can be written. This process goes on meanwhile. */
  promote(): Promise<void> {
    return this.#runAside('pg_ctl', ['-D', this.data, '-w', '-s', 'promote'])
  }

  /** Ends all processes of the server by SIGKILL. */
  async kill(): Promise<void> {
    // A suspended first process starts no other while they are counted.
    signal(this.#pids().slice(0, 1), 'SIGSTOP')
    const pids = this.#pids()
    signal(pids, 'SIGKILL')
    while (pids.some(isAlive)) await sleep(5)
    // Where nothing reaps the first process, PostgreSQL would believe that it runs.
    rmSync(join(this.data, 'postmaster.pid'), { force: true })
  }

  /** Ends the first process by SIGKILL. The others notice that and end, or are ended after some seconds. */
  async killFirst(): Promise<void> {
    signal(this.#pids().slice(0, 1), 'SIGSTOP')
    const pids = this.#pids()
    signal(pids.slice(0, 1), 'SIGKILL')
    for (const fromMs = performance.now(); pids.some(isAlive); ) {
      if (performance.now() - fromMs > noticeMs) signal(pids, 'SIGKILL')
      await sleep(5)
    }
    rmSync(join(this.data, 'postmaster.pid'), { force: true })
  }

  /** Ends a process without which the server does not go on. Resolves once all of the server has ended. */
  async killFor(pid: number): Promise<void> {
    const pids = this.#pids()
    process.kill(pid, 'SIGKILL')
    while (pids.some(isAlive)) await sleep(5)
    rmSync(join(this.data, 'postmaster.pid'), { force: true })
  }

  /** Suspends all processes of the server. */
  pause(): void {
    signal(this.#pids(), 'SIGSTOP')
  }

  resume(): void {
    signal(this.#pids(), 'SIGCONT')
  }

  /** Runs one query as the superuser. */
  async query<R extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    url = this.url,
  ): Promise<R[]> {
    const client = new pg.Client({ connectionString: url })
    // If the server is killed, the statement fails as well.
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<R>(text, [...values])).rows
    } finally {
      await client.end()
    }
  }

  get isRunning(): boolean {
    return this.#pids().length > 0
  }

  async close(): Promise<void> {
    await this.kill()
    if (this.#wal !== undefined) await rm(this.#wal, { recursive: true, force: true })
    await rm(this.folder, { recursive: true, force: true })
  }

  /** The first process and those that it started. */
  #pids(): number[] {
    try {
      const first = Number(readFileSync(join(this.data, 'postmaster.pid'), 'utf8').split('\n')[0])
      if (!isAlive(first)) return []
      return [first, ...childrenOf(first)]
    } catch {
      return []
    }
  }

  #run(program: string, given: readonly string[]): void {
    execFileSync(join(programs ?? '', program), given, this.#surroundings)
  }

  async #runAside(program: string, given: readonly string[]): Promise<void> {
    const child = spawn(join(programs ?? '', program), given, this.#surroundings)
    // Not `close`: a server that it starts keeps its standard error open.
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`${program} ended with ${code}`)
  }

  get #surroundings(): CommonSpawnOptions {
    return { ...owner(), cwd: this.folder, stdio: ['ignore', 'ignore', 'inherit'] }
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // The process has ended.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1] === String(parent)
      } catch {
        return false
      }
    })

interface Owner {
  readonly uid?: number
  readonly gid?: number
}

let found: Owner | undefined

function owner(): Owner {
  if (userInfo().uid !== 0) return {}
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  found ??= { uid: idOf('-u'), gid: idOf('-g') }
  return found
}

function makeFolder(under = tmpdir()): string {
  const folder = mkdtempSync(join(under, 'bridge-cluster-'))
  chmodSync(folder, 0o755)
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}
