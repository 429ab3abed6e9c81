/**
 * A real server process for a test: killed by its id, started again on the same port over the same folder.
 *
 * - Nothing is left behind: `close` ends the process and removes the folder; when this process ends first, its exit does
 *   both, and when it is killed, the server notices that its standard input has closed.
 * - The port lies below those that the system hands out: a client that calls a server which is down could otherwise be
 *   given that very port as its own, and talk to itself.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { SettingName } from '../../server/config.ts'
import type { ReadyLine, ServerArguments } from './server-process.ts'

export interface ProcessOptions {
  readonly settings?: Partial<Record<SettingName, string>>
  readonly clockFrom?: Date
  readonly control?: ServerArguments['control']
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ServerProcess {
  readonly url: string
  readonly port: number
  readonly data: string
  readonly setupLink: string
  /** Of the process that runs now. */
  readonly pid: number
  /** How the process that runs now ends. */
  readonly ended: Promise<Ending>
  /** Everything that the processes wrote to standard error. */
  readonly errors: string
  /** Sends a signal and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<Ending>
  /** A new process on the same port and folder, once the last has ended; from now on with these options. */
  start(options?: ProcessOptions): Promise<void>
  close(): Promise<void>
}

const entry = fileURLToPath(new URL('./server-process.ts', import.meta.url))

/** What must not outlive this process. */
const leftovers = new Set<() => void>()
process.once('exit', () => {
  for (const remove of leftovers) remove()
})

export async function startServerProcess(options: ProcessOptions = {}): Promise<ServerProcess> {
  const server = new Supervised(await freePort(), options)
  await server.start()
  return server
}

class Supervised implements ServerProcess {
  readonly url: string
  readonly port: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'bridge-process-'))
  readonly data = join(this.#folder, 'data')
  #options: ProcessOptions
  readonly #remove = () => {
    this.#child?.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
  #child: ChildProcess | undefined
  #setupLink: string | undefined
  ended: Promise<Ending> = Promise.resolve({ code: null, signal: null })
  errors = ''

  constructor(port: number, options: ProcessOptions) {
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.#options = options
    leftovers.add(this.#remove)
  }

  get pid(): number {
    return this.#child?.pid ?? Number.NaN
  }

  get setupLink(): string {
    return this.#setupLink ?? ''
  }

  async start(options: ProcessOptions = {}): Promise<void> {
    await this.ended
    this.#options = { ...this.#options, ...options }
    const child = spawn(process.execPath, [entry, JSON.stringify(this.#arguments())], {
      stdio: ['pipe', 'pipe', 'pipe'],
      // Compiled once: a server that is killed twenty times starts again in half the time.
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compiled') },
    })
    this.#child = child
    this.ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as Ending)
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    const { setupLink } = await this.#ready(child)
    this.#setupLink ??= setupLink ?? undefined
  }

  async #ready(child: ChildProcess): Promise<ReadyLine> {
    if (child.stdout === null) throw new Error('the server process has no standard output')
    const line = once(createInterface(child.stdout), 'line') as Promise<[string]>
    const first = await Promise.race([line, this.ended])
    if (Array.isArray(first)) return JSON.parse(first[0]) as ReadyLine
    throw new Error(`the server ended before it was ready (${JSON.stringify(first)}): ${this.errors}`)
  }

  #arguments(): ServerArguments {
    const { settings, clockFrom, control } = this.#options
    return {
      folder: this.#folder,
      data: this.data,
      settings: { ...generous, ...settings, port: String(this.port) },
      init: this.#setupLink === undefined,
      ...(clockFrom && { clockFrom: clockFrom.toISOString() }),
      ...(control && { control }),
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ending> {
    this.#child?.kill(signal)
    return this.ended
  }

  async close(): Promise<void> {
    await this.kill()
    this.#remove()
    leftovers.delete(this.#remove)
  }
}

const generous = {
  log_level: 'error',
  rate_per_second: '100000',
  rate_burst: '100000',
  failed_auth_per_minute: '100000',
} as const

const lowestPort = 15_000
const highestPort = 31_999

/** A free port outside the range for outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort))
    const probe = createServer()
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}
