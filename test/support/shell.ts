/** A machine on which only Node is there: an empty home, and a shell that runs what a prompt says. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Ended } from './test-home.ts'

export interface Bare {
  readonly home: string
  /** Runs a text as `sh -c` does; another shell and variables can be named. */
  sh(
    text: string,
    options?: { shell?: string; environment?: Record<string, string>; stdin?: string },
  ): Promise<Ended>
}

export function bareMachine(home: string): Bare {
  mkdirSync(home, { recursive: true })
  const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`
  return {
    home,
    async sh(text, { shell = 'sh', environment = {}, stdin = '' } = {}) {
      // npm would write here, so an empty folder shows that it did not run.
      const env = { HOME: home, PATH, npm_config_cache: join(home, 'npm-cache'), ...environment }
      const child = spawn(shell, ['-c', text], { cwd: home, env })
      const printed = { stdout: '', stderr: '' }
      for (const name of ['stdout', 'stderr'] as const) {
        child[name].setEncoding('utf8').on('data', (piece: string) => {
          printed[name] += piece
        })
      }
      child.stdin.on('error', () => {})
      child.stdin.end(stdin)
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, ...printed }
    },
  }
}

/** The parts of a prompt that a shell runs. */
export interface Pasted {
  /** Installs the program. */
  readonly install: string
  /** Claims the code. */
  readonly enrol: string
  readonly program: string
  /** Writes a command as the prompt says. */
  command(words: string): string
}

export function pastedOf(prompt: string): Pasted {
  const [, install = ''] =
    /^((?:mkdir [\s\S]*?)?(?:NODE_EXTRA_CA_CERTS=\S+ )?node -e ".*")$/m.exec(prompt) ?? []
  const [enrol = '', program = ''] = /^(\S*agent-bridge) enroll [\s\S]*?\nCODE$/m.exec(prompt) ?? []
  const [, profile = ''] = /--profile (\S+)/.exec(enrol) ?? []
  if (install === '' || enrol === '') throw new Error('the prompt has no commands')
  return { install, enrol, program, command: (words) => `${program} ${words} --profile ${profile}` }
}
