/** `bridge` in a real pseudo-terminal, made by `script` of util-linux; both output streams arrive as one. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { compileCache, program } from '../support/program.ts'

export interface Terminal {
  readonly child: ChildProcess
  /** The bytes sent to the terminal so far. */
  readonly sent: () => string
  /** Resolves when this text was sent to the terminal. */
  shows(text: string): Promise<void>
  type(text: string): void
  readonly ended: Promise<number | null>
}

/** Runs a shell line in which `bridge` is the program, with a BRIDGE_HOME. */
export function inTerminal(line: string, home: string): Terminal {
  const shell = `bridge() { "${process.execPath}" "${program}" "$@"; }\n${line}`
  const { PATH = '' } = process.env
  const child = spawn('script', ['--quiet', '--return', '--command', shell, '/dev/null'], {
    env: {
      PATH,
      HOME: home,
      BRIDGE_HOME: home,
      TERM: 'xterm-256color',
      SHELL: '/bin/bash',
      NODE_COMPILE_CACHE: compileCache,
    },
  })
  let sent = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    sent += text
  })
  const shows = async (text: string) => {
    while (!sent.includes(text)) await once(child.stdout, 'data')
  }
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, sent: () => sent, shows, type: (text) => void child.stdin.write(text), ended }
}
