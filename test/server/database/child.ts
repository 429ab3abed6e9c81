/** A child process that exchanges lines with the test and is killed by its id. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { onTestFinished } from 'vitest'

export interface Child {
  /** The lines written so far. */
  readonly said: string[]
  /** Waits for the next line; fails if the process exits first. */
  next(): Promise<string>
  /** Waits for the exit and returns the remaining lines. */
  rest(): Promise<string[]>
  say(line: string): void
  kill(): Promise<void>
  ended(): Promise<number | null>
}

/** `wrap` starts the process through another program, such as strace. */
export function startChild(script: string, args: readonly string[], wrap: readonly string[] = []): Child {
  const [program = '', ...rest] = [
    ...wrap,
    process.execPath,
    join(import.meta.dirname, 'children', script),
    ...args,
  ]
  const process_ = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(process_, 'exit').then(([code]) => code as number | null)
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]()
  const said: string[] = []
  const kill = async () => {
    process_.kill('SIGKILL')
    await exit
  }
  onTestFinished(kill)
  return {
    said,
    kill,
    say: (line) => tell(process_, line),
    ended: () => exit,
    async rest() {
      const heard: string[] = []
      for (let line = await lines.next(); line.done !== true; line = await lines.next())
        heard.push(line.value)
      return heard
    },
    async next() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`${script} ended after saying ${JSON.stringify(said)}`)
      said.push(value)
      return value
    },
  }
}

const tell = (process_: ChildProcessByStdio<Writable, Readable, null>, line: string) =>
  process_.stdin.write(`${line}\n`)
