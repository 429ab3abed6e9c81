/**
 * The program in this process, at an owner's desk: a BRIDGE_HOME of its own, streams that a test feeds and reads, and a
 * terminal that a test can type on.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Writable } from 'node:stream'
import { createContext } from '../../cli/context.ts'
import { run } from '../../cli/run.ts'
import type { Streams } from '../../cli/terminal/io.ts'
import type { Ended } from './program.ts'

export interface DeskOptions {
  /** All of standard input, which is then no terminal. */
  readonly stdin?: string
  /** Standard input is a terminal: each line is typed when the next prompt is shown. */
  readonly typed?: readonly string[]
  readonly clock?: () => Date
  readonly environment?: Readonly<Record<string, string>>
  /** In place of one that takes everything. */
  readonly stdout?: Writable
  /** Aborting it is control-C. */
  readonly interruption?: AbortController
  /** Hears all of standard output so far, as it comes. */
  readonly onOutput?: (text: string) => void
  /** The same for standard error. */
  readonly onError?: (text: string) => void
}

export interface AtTerminal extends Ended {
  /** What the terminal was told about echoing, in order: true turns it off. */
  readonly raw: readonly boolean[]
}

export class Desk {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<Desk> {
    return new Desk(await mkdtemp(join(tmpdir(), 'bridge-desk-')))
  }

  async run(args: readonly string[], options: DeskOptions = {}): Promise<AtTerminal> {
    const raw: boolean[] = []
    const streams = {
      stdin: stdinOf(options, raw),
      stdout: options.stdout ?? new PassThrough(),
      stderr: new PassThrough(),
    }
    const texts = { stdout: '', stderr: '' }
    const typed = [...(options.typed ?? [])]
    if (streams.stdout instanceof PassThrough) {
      streams.stdout.setEncoding('utf8').on('data', (text: string) => {
        texts.stdout += text
        options.onOutput?.(texts.stdout)
      })
    }
    streams.stderr.setEncoding('utf8').on('data', (text: string) => {
      texts.stderr += text
      options.onError?.(texts.stderr)
      const line = text.endsWith(': ') ? typed.shift() : undefined
      if (line !== undefined) streams.stdin.write(`${line}\r`)
    })
    const context = createContext({
      streams: streams as Streams,
      environment: { BRIDGE_HOME: this.home, ...options.environment },
      clock: options.clock ?? (() => new Date()),
      random: randomBytes,
      homeDirectory: this.folder,
      interruption: options.interruption ?? new AbortController(),
    })
    const code = await run(args, context)
    streams.stdout.end()
    streams.stderr.end()
    return { code, ...texts, raw }
  }

  /** {@link run} that must succeed; its standard output as JSON. */
  async json<T>(args: readonly string[], options: DeskOptions = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], options)
    if (code !== 0) throw new Error(`bridge ${args.join(' ')} exited ${code}: ${stderr}`)
    return JSON.parse(stdout) as T
  }

  get home(): string {
    return join(this.folder, 'bridge')
  }

  /** A file of a profile. */
  path(...parts: string[]): string {
    return join(this.home, 'profiles', ...parts)
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }
}

function stdinOf({ stdin, typed }: DeskOptions, raw: boolean[]): PassThrough {
  const stream = new PassThrough()
  if (typed === undefined) stream.end(stdin ?? '')
  else
    Object.assign(stream, {
      isTTY: true,
      setRawMode: (on: boolean) => {
        raw.push(on)
      },
    })
  return stream
}
