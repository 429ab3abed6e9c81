/**
 * Person at a terminal, who types commands of the program. The transcript shows the commands and their
 * output.
 */
import { type ChildProcess, spawn } from 'node:child_process'

export interface Typed {
  /** Standard input that the person types or pastes. */
  readonly input?: string
  /** Expected exit code, 0 by default. */
  readonly exits?: number
  /** Omits the command and its output from the transcript. */
  readonly quiet?: boolean
}

export class Person {
  readonly name: string
  readonly #program: string
  readonly #env: NodeJS.ProcessEnv

  constructor(name: string, program: string, env: NodeJS.ProcessEnv) {
    this.name = name
    this.#program = program
    this.#env = env
  }

  say(text: string): void {
    for (const line of text.trimEnd().split('\n')) process.stdout.write(`${this.name.padEnd(6)}│ ${line}\n`)
  }

  /**
   * Runs a command to its end and returns its standard output. @throws Error if the exit code is not the
   * expected one
   */
  async types(args: readonly string[], { input, exits = 0, quiet = false }: Typed = {}): Promise<string> {
    const child = this.starts(args, { quiet })
    child.stdin?.end(input ?? '')
    const output = collect(child)
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    const { stdout, stderr } = output()
    if (!quiet) this.say(stdout + stderr || '(nothing printed)')
    if (code === exits) return stdout
    throw new Error(`bridge ${args.join(' ')} ended ${code}, not ${exits}:\n${stdout}${stderr}`)
  }

  /** Starts a command that runs while other people type. */
  starts(args: readonly string[], { quiet = false }: Pick<Typed, 'quiet'> = {}): ChildProcess {
    if (!quiet) this.say(`$ bridge ${args.map(quoted).join(' ')}`)
    return spawn(process.execPath, [this.#program, ...args], { env: this.#env, stdio: 'pipe' })
  }
}

const quoted = (arg: string): string => (/^[A-Za-z0-9_./:@%+=,-]+$/.test(arg) ? arg : `'${arg}'`)

export function collect(child: ChildProcess): () => { stdout: string; stderr: string } {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return () => ({ stdout, stderr })
}
