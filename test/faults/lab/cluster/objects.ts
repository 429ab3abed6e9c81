/** An object store as a process that is killed and starts again, with the objects that it has acknowledged. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../support/free-port.ts'
import type { Started, StoreFault } from './objects-process.ts'

const program = join(import.meta.dirname, 'objects-process.ts')

export class ObjectsProcess {
  readonly #folder: string
  #child: ChildProcess
  #started: Started

  private constructor(folder: string, child: ChildProcess, started: Started) {
    this.#folder = folder
    this.#child = child
    this.#started = started
  }

  static async start(): Promise<ObjectsProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'bridge-objects-'))
    const child = begin(folder, await freePort())
    return new ObjectsProcess(folder, child, await heard<Started>(child))
  }

  get endpoint(): string {
    return this.#started.endpoint
  }

  get port(): number {
    return Number(new URL(this.endpoint).port)
  }

  /** Settings of a node whose packages are in this store. */
  get settings(): Started['settings'] {
    return this.#started.settings
  }

  /** Ends the process by SIGKILL. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** Starts it again, on the same port and without a fault. */
  async restart(): Promise<void> {
    this.#child = begin(this.#folder, this.port)
    this.#started = await heard<Started>(this.#child)
  }

  /** Resolves once requests meet the fault. */
  async meets(fault: StoreFault): Promise<void> {
    const set = heard<'set'>(this.#child)
    this.#child.send(fault)
    await set
  }

  async close(): Promise<void> {
    await this.kill()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

const begin = (folder: string, port: number): ChildProcess =>
  fork(program, [folder, String(port)], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })

/** @throws if the process ends instead */
async function heard<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController()
  const { signal } = over
  try {
    const ended = once(child, 'exit', { signal }).then(([code, by]) => {
      throw new Error(`the object store has ended with ${code ?? by}`)
    })
    const [news] = (await Promise.race([once(child, 'message', { signal }), ended])) as [T]
    return news
  } finally {
    over.abort()
  }
}
