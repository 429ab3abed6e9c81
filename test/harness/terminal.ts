/** A program in a terminal of tmux, on a tmux server of its own. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'

export interface TerminalOptions {
  /** Folder of the socket. */
  readonly folder: string
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

export class Terminal {
  readonly #socket: string

  constructor(command: readonly string[], { folder, cwd, environment }: TerminalOptions) {
    this.#socket = join(folder, 'tmux.sock')
    const pairs = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
    const size = ['-x', '120', '-y', '45']
    this.#tmux('new-session', '-d', '-s', 'agent', ...size, '-c', cwd, 'env', '-i', ...pairs, ...command)
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-f', '/dev/null', '-S', this.#socket, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  /** The lines of the screen, or none after the end of the program. */
  get screen(): string {
    try {
      return this.#tmux('capture-pane', '-p', '-t', 'agent').replace(/\s+$/, '')
    } catch {
      return ''
    }
  }

  get isOpen(): boolean {
    try {
      this.#tmux('has-session', '-t', 'agent')
      return true
    } catch {
      return false
    }
  }

  async shows(pattern: RegExp): Promise<void> {
    await expect.poll(() => this.screen).toMatch(pattern)
  }

  /** Types a text, and waits until the screen shows it. */
  async type(text: string): Promise<void> {
    this.#tmux('send-keys', '-t', 'agent', '-l', text)
    await expect.poll(() => this.screen).toContain(text)
  }

  press(key: string): void {
    this.#tmux('send-keys', '-t', 'agent', key)
  }

  /** Types a prompt and sends it. Agents take a return key that follows at once for pasted text. */
  async send(text: string): Promise<void> {
    await this.type(text)
    await sleep(500)
    this.press('Enter')
  }

  /** Presses control-C until the program has ended. */
  async quit(): Promise<void> {
    for (let presses = 0; presses < 20 && this.isOpen; presses += 1) {
      try {
        this.press('C-c')
      } catch {
        return
      }
      await sleep(300)
    }
  }

  close(): void {
    try {
      this.#tmux('kill-server')
    } catch {
      // The program ended, and tmux with it.
    }
  }
}
