/**
 * The program in this process for an owner: a separate BRIDGE_HOME, streams that a test writes and reads, and
 * a terminal that a test types on.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Writable } from 'node:stream'
import { createContext } from '../../cli/create-context.ts'
import { run } from '../../cli/run.ts'
import type { Streams } from '../../cli/terminal/io.ts'
import type { BridgeOptions } from '../../sdk/index.ts'
import { storeEnvironment } from './postgres.ts'
import type { Ended } from './test-home.ts'

export interface DeskOptions {
  /** The complete standard input, which is then no terminal. */
  readonly stdin?: string
  /** Makes standard input a terminal; each line is typed at the next prompt. */
  readonly typed?: readonly string[]
  readonly clock?: () => Date
  readonly environment?: Readonly<Record<string, string>>
  /** Replaces the pauses of the client. */
  readonly sleep?: BridgeOptions['sleep']
  /** Replaces the output that accepts everything. */
  readonly stdout?: Writable
  /** Aborting it acts like control-C. */
  readonly interruption?: AbortController
  /** Called with all standard output so far whenever more arrives. */
  readonly onOutput?: (text: string) => void
  /** The same for standard error. */
  readonly onError?: (text: string) => void
}

export interface AtTerminal extends Ended {
  /** The echo settings that the terminal received, in order; true turns echo off. */
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
      environment: { BRIDGE_HOME: this.home, ...storeEnvironment(args), ...options.environment },
      clock: options.clock ?? (() => new Date()),
      random: randomBytes,
      sleep: options.sleep,
      homeDirectory: this.folder,
      interruption: options.interruption ?? new AbortController(),
    })
    const code = await run(args, context)
    streams.stdout.end()
    streams.stderr.end()
    return { code, ...texts, raw }
  }

  /** {@link run} for a command that must succeed; returns its standard output as JSON. */
  async json<T>(args: readonly string[], options: DeskOptions = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], options)
    if (code !== 0) throw new Error(`bridge ${args.join(' ')} exited ${code}: ${stderr}`)
    return JSON.parse(stdout) as T
  }

  get home(): string {
    return join(this.folder, 'bridge')
  }

  /** The path of a file of a profile. */
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
