/**
 * A machine with the installed package: the examples, the SDK, `bridge` in the PATH, and its own profiles.
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { installPackage } from '../support/installed.ts'
import { compileCache, program } from '../support/program.ts'
import { Started } from '../support/test-home.ts'

const examples = join(import.meta.dirname, '../../examples')

export class Machine {
  readonly #folder: string
  readonly #running = new Set<Started>()

  /** Uses a folder that already contains the `bridge` home of the profiles. */
  constructor(folder: string) {
    this.#folder = folder
    installPackage(folder)
    for (const name of ['script', 'shell-agent', 'reviewer', 'provision']) {
      cpSync(join(examples, name), this.path(name), { recursive: true })
    }
    mkdirSync(this.path('bin'))
    const shim = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`
    for (const name of ['bridge', 'agent-bridge'])
      writeFileSync(this.path('bin', name), shim, { mode: 0o755 })
  }

  path(...parts: string[]): string {
    return join(this.#folder, ...parts)
  }

  /** Runs a command in a folder with the profile; `stdin` is its complete input. */
  start(folder: string, command: readonly [string, ...string[]], { profile = 'nobody', stdin = '' } = {}) {
    const [file, ...args] = command
    const path = [this.path('bin'), dirname(process.execPath), process.env.PATH ?? ''].join(delimiter)
    const env = {
      PATH: path,
      HOME: this.#folder,
      BRIDGE_HOME: this.path('bridge'),
      BRIDGE_PROFILE: profile,
      NODE_COMPILE_CACHE: compileCache,
    }
    const started = new Started(spawn(file, args, { cwd: this.path(folder), env }))
    this.#running.add(started)
    void started.ended.then(() => this.#running.delete(started))
    started.child.stdin.end(stdin)
    return started
  }

  run(...all: Parameters<Machine['start']>) {
    return this.start(...all).ended
  }

  /** Ends the processes that are still running. */
  async close(): Promise<void> {
    for (const { child, ended } of this.#running) {
      child.kill('SIGKILL')
      await ended
    }
  }
}
