/**
 * The real program, built as it is published, as a separate process with its own BRIDGE_HOME.
 *
 * Every process is awaited or ended by its id, and the folder is removed after the test.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileCache, program } from './program.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly stdin?: string
  readonly environment?: Readonly<Record<string, string>>
  /** A command that runs the program. */
  readonly under?: readonly string[] | undefined
}

/** The profiles of one machine. */
export class TestHome {
  readonly folder: string
  readonly #running = new Set<ChildProcessWithoutNullStreams>()

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<TestHome> {
    return new TestHome(await mkdtemp(join(tmpdir(), 'bridge-home-')))
  }

  /** Runs processes with the profiles of a {@link Desk}. */
  static at(folder: string): TestHome {
    return new TestHome(folder)
  }

  start(args: readonly string[], { environment = {}, under = [] }: Omit<RunOptions, 'stdin'> = {}): Started {
    const { PATH = '' } = process.env
    const [command = '', ...words] = [...under, process.execPath, program, ...args]
    const child = spawn(command, words, {
      env: {
        PATH,
        HOME: this.folder,
        BRIDGE_HOME: join(this.folder, 'bridge'),
        NODE_COMPILE_CACHE: compileCache,
        BRIDGE_RESERVE_BYTES: '0',
        ...environment,
      },
    })
    this.#running.add(child)
    child.once('close', () => this.#running.delete(child))
    return new Started(child)
  }

  async run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const started = this.start(args, options)
    started.child.stdin.end(options.stdin ?? '')
    return started.ended
  }

  /** {@link run} for a command that must succeed; returns its standard output as JSON. */
  async json<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], options)
    if (code !== 0) throw new Error(`bridge ${args.join(' ')} exited ${code}: ${stderr}`)
    return JSON.parse(stdout) as T
  }

  /** The path of a file of a profile. */
  path(profile: string, ...parts: string[]): string {
    return join(this.folder, 'bridge', 'profiles', profile, ...parts)
  }

  async remove(): Promise<void> {
    for (const child of this.#running) {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** A running program. */
export class Started {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  #stdout = ''
  #stderr = ''

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child
    child.stdin.on('error', () => {})
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    this.ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }))
  }

  /** Resolves when standard output matches; rejects if the program exits first. */
  printed(pattern: RegExp): Promise<string> {
    return this.#until(this.child.stdout, () => this.#stdout, pattern)
  }

  /** The same for standard error. */
  said(pattern: RegExp): Promise<string> {
    return this.#until(this.child.stderr, () => this.#stderr, pattern)
  }

  #until(stream: NodeJS.ReadableStream, text: () => string, pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!pattern.test(text())) return
        stream.off('data', look)
        resolve(text())
      }
      stream.on('data', look)
      void this.ended.then(({ code, stdout, stderr }) =>
        reject(new Error(`ended with ${code} before ${pattern} came: ${stdout}${stderr}`)),
      )
      look()
    })
  }
}
