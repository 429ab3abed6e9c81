/**
 * The program itself as a process, `bridge server start`. A test kills it by its id and starts it again on
 * the same port and folder.
 *
 * - No process or file remains. `close` ends the process and removes the folder. If this process exits
 *   first, its exit handler does both. If this process is killed, the server notices that its standard input
 *   closed.
 * - The port is below the range for outgoing connections. A client that calls a stopped server could
 *   otherwise get that same port as its own source port and connect to itself.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, copyFileSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { promisify } from 'node:util'
import { readConfig } from '../../server/config.ts'
import { initServer, issueSetupLink } from '../../server/host/init.ts'
import type { SettingName } from '../../server/settings.ts'
import type { Control } from './broken-store.ts'
import { freePort } from './free-port.ts'
import { makeInstallation } from './installation.ts'
import { dropDatabase, isOnPostgres, storeSettings } from './postgres.ts'
import { compileCache, program, sources } from './program.ts'

export interface ProcessOptions {
  readonly settings?: Partial<Record<SettingName, string>>
  /** Breaks the store on purpose. */
  readonly control?: Control
  /** Checkpoints the WAL into the file once it has this many pages. */
  readonly foldEvery?: number
  /**
   * A file that receives standard error, by default in the folder of this server; `errors` then stays empty.
   */
  readonly errorsTo?: string | undefined
  /** Starts another node on the database of this server. */
  readonly joins?: { readonly data: string } | undefined
  /** The time at which the program believes it starts. Later starts are as far ahead of the real time. */
  readonly clockFrom?: Date
  /** The file that `node` runs, for another version of the program. It makes the installation too. */
  readonly program?: string
  /** More variables of the program. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ServerProcess {
  readonly url: string
  readonly port: number
  /** A temporary folder for other files of this server; `close` removes it. */
  readonly folder: string
  readonly data: string
  readonly setupLink: string
  /** The id of the current process. */
  readonly pid: number
  /** Resolves with the exit status of the current process. */
  readonly ended: Promise<Ending>
  /** All standard error of the server's processes. */
  readonly errors: string
  /** Sends a signal and waits until the process exits. */
  kill(signal?: NodeJS.Signals): Promise<Ending>
  /**
   * Sets by how many milliseconds the wall clock of the running process is ahead. Resolves once it is set. A
   * new process begins as `clockFrom` says.
   */
  setClock(aheadMs: number): Promise<void>
  /**
   * Waits until the last process has exited, then starts a new one on the same port and folder; the given
   * options replace the earlier ones.
   */
  start(options?: ProcessOptions): Promise<void>
  close(): Promise<void>
}

const preload = new URL('./server-preload.mjs', import.meta.url).href

/** Clean-ups to run before this process exits. */
const leftovers = new Set<() => void>()
process.once('exit', () => {
  for (const remove of leftovers) remove()
})

export async function startServerProcess(options: ProcessOptions = {}): Promise<ServerProcess> {
  const server = new Supervised(await freePort(), options)
  try {
    await server.init()
    await server.start()
    return server
  } catch (error) {
    await server.close()
    throw error
  }
}

class Supervised implements ServerProcess {
  readonly url: string
  readonly port: number
  readonly folder = mkdtempSync(join(tmpdir(), 'bridge-process-'))
  readonly data = join(this.folder, 'data')
  #options: ProcessOptions
  /** How far `clockFrom` is ahead of the real time. */
  #aheadMs: number | undefined
  readonly #remove = () => {
    this.#child?.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }
  #child: ChildProcess | undefined
  #lines: Interface | undefined
  setupLink = ''
  ended: Promise<Ending> = Promise.resolve({ code: null, signal: null })
  errors = ''

  constructor(port: number, options: ProcessOptions) {
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.#options = options
    this.#setAhead(options)
    leftovers.add(this.#remove)
  }

  #setAhead({ clockFrom }: ProcessOptions): void {
    if (clockFrom !== undefined) this.#aheadMs = clockFrom.getTime() - Date.now()
  }

  get pid(): number {
    return this.#child?.pid ?? Number.NaN
  }

  async init(): Promise<void> {
    const config = readConfig(this.#settings(), {})
    const { joins } = this.#options
    if (joins !== undefined) {
      mkdirSync(this.data, { mode: 0o700 })
      copyFileSync(join(joins.data, 'envelope.key'), join(this.data, 'envelope.key'))
      return
    }
    if (this.#options.program !== undefined) {
      const made = await promisify(execFile)(process.execPath, this.#command('init'))
      this.setupLink = (JSON.parse(made.stdout) as { setup_link: string }).setup_link
      return
    }
    if (this.#namesDatabase()) {
      this.setupLink = (await initServer(config)).setupLink
      return
    }
    await makeInstallation(config)
    this.setupLink = await issueSetupLink(config)
  }

  /** Whether the test names an empty PostgreSQL database of its own. */
  #namesDatabase(): boolean {
    const { settings = {} } = this.#options
    return settings.database !== undefined || settings.database_url_file !== undefined
  }

  async start(options: ProcessOptions = {}): Promise<void> {
    await this.ended
    this.#options = { ...this.#options, ...options }
    this.#setAhead(options)
    const { errorsTo } = this.#options
    const errors = errorsTo === undefined ? ('pipe' as const) : openSync(resolve(this.folder, errorsTo), 'a')
    const child = spawn(process.execPath, ['--import', preload, ...this.#command('start')], {
      stdio: ['pipe', 'pipe', errors],
      env: this.#environment(),
    })
    if (typeof errors === 'number') closeSync(errors)
    this.#child = child
    this.ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as Ending)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    await this.#ready(child)
    child.kill('SIGUSR2')
  }

  /** The bundle of the server contains `pg`, so a control reaches it only in the sources. */
  #file(): string {
    const { control, program: other } = this.#options
    return other ?? (control !== undefined && isOnPostgres ? sources : program)
  }

  #command(verb: 'init' | 'start'): string[] {
    const flags = Object.entries(this.#settings()).map(
      ([name, value]) => `--${name.replaceAll('_', '-')}=${value}`,
    )
    return [this.#file(), 'server', verb, '--json', ...flags]
  }

  async #ready(child: ChildProcess): Promise<void> {
    if (child.stdout === null) throw new Error('the server process has no standard output')
    this.#lines = createInterface(child.stdout)
    const line = once(this.#lines, 'line')
    if (Array.isArray(await Promise.race([line, this.ended]))) return
    throw new Error(`the server ended before it was ready: ${this.errors}`)
  }

  #settings() {
    const fixed = { data: this.data, port: String(this.port) }
    const store = this.#namesDatabase() ? {} : storeSettings(this.#options.joins?.data ?? this.data)
    return { ...generous, ...store, ...this.#options.settings, ...fixed }
  }

  #environment(): NodeJS.ProcessEnv {
    const { control, foldEvery } = this.#options
    return {
      ...process.env,
      ...this.#options.environment,
      // Compiled once per run: servers start in half the time, and some are killed twenty times.
      NODE_COMPILE_CACHE: compileCache,
      BRIDGE_TEST_FOLDER: this.folder,
      ...(control && { BRIDGE_TEST_CONTROL: control }),
      ...(foldEvery && { BRIDGE_TEST_FOLD_EVERY: String(foldEvery) }),
      ...(this.#aheadMs !== undefined && { BRIDGE_TEST_CLOCK_FROM: String(Date.now() + this.#aheadMs) }),
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ending> {
    this.#child?.kill(signal)
    return this.ended
  }

  async setClock(aheadMs: number): Promise<void> {
    const lines = this.#lines
    if (lines === undefined) throw new Error('the server process is not running')
    const isSet = new Promise<void>((resolve) => {
      const hear = (line: string) => {
        if (line !== 'clock set') return
        lines.off('line', hear)
        resolve()
      }
      lines.on('line', hear)
    })
    this.#child?.stdin?.write(`${aheadMs}\n`)
    const ended = this.ended.then(() => Promise.reject(new Error('the server process has ended')))
    await Promise.race([isSet, ended])
  }

  async close(): Promise<void> {
    await this.kill()
    await dropDatabase(this.data)
    this.#remove()
    leftovers.delete(this.#remove)
  }
}

const generous = {
  log_level: 'error',
  reserve_bytes: '0',
  rate_per_second: '100000',
  rate_burst: '100000',
  public_per_second: '100000',
  public_burst: '100000',
  failed_auth_per_minute: '100000',
} as const
