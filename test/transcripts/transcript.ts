/**
 * Console transcripts in Markdown, and their replay.
 *
 * In a `console` block `$ ` begins a command, `> ` continues it, and the other lines are its output, on
 * either stream. `…` stands for anything within the output; words in parentheses stand for a value that an
 * earlier command printed.
 */
import { type ChildProcess, spawn } from 'node:child_process'

export interface Step {
  /** The command as typed, including here-documents. */
  readonly command: string
  readonly expected: string
}

export function readSteps(markdown: string): Step[] {
  const blocks = [...markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? '')
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const lines = text.trimEnd().split('\n')
        const printed = lines.findIndex((line, index) => index > 0 && !line.startsWith('> '))
        const typed = printed === -1 ? lines : lines.slice(0, printed)
        return {
          command: typed.map((line, index) => (index === 0 ? line : line.slice(2))).join('\n'),
          expected: printed === -1 ? '' : lines.slice(printed).join('\n'),
        }
      }),
  )
}

/** Whether the output so far has each expected line, in any order of the two streams. */
export function matches(expected: string, printed: string): boolean {
  return expected
    .split('\n')
    .filter((line) => line !== '…')
    .every((line) => patternOf(line).test(printed))
}

const patternOf = (line: string): RegExp => {
  const parts = line
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ +/g, ' +'))
  return new RegExp(`^${parts.join('.*')} *$`, 'm')
}

export interface Running {
  readonly child: ChildProcess
  readonly printed: () => string
  /** Resolves when the output matches or the command has exited. */
  readonly shown: Promise<void>
}

/**
 * Runs a step in a shell. A command that does not exit is left running once it printed the expected output.
 */
export function run(step: Step, env: NodeJS.ProcessEnv, cwd: string): Running {
  const child = spawn('bash', ['-c', `exec ${step.command}`], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  const shown = new Promise<void>((resolve) => {
    const collect = (text: string) => {
      printed += text
      if (goesOn(step) && matches(step.expected, printed)) resolve()
    }
    child.stdout?.setEncoding('utf8').on('data', collect)
    child.stderr?.setEncoding('utf8').on('data', collect)
    child.once('close', () => resolve())
  })
  return { child, printed: () => printed, shown }
}

const goesOn = ({ command }: Step): boolean => /\bserver start\b|\bup\b/.test(command)
