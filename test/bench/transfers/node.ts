/** A published node, with agents that transfer files and others that send messages meanwhile. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Bridge, enroll, generateKeyPair, Identity } from '../../../sdk/index.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import type { ServerProcess } from '../../support/process.ts'
import { program } from '../../support/program.ts'
import { type Operated, startOperated } from '../operated.ts'

export interface Ran {
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly stdin?: string
  readonly onError?: (text: string) => void
}

export class BenchNode {
  readonly server: ServerProcess
  readonly #owner: TestOwner
  readonly #projectId: string

  private constructor(server: ServerProcess, owner: TestOwner, projectId: string) {
    this.server = server
    this.#owner = owner
    this.#projectId = projectId
  }

  static async start(options: Operated = {}): Promise<BenchNode> {
    const server = await startOperated(options)
    try {
      const owner = await setUpOwner(server.url, server.setupLink)
      const policy = { message_budget: 1_000_000 }
      const { id } = await owner.createProject('transfers', { policy })
      return new BenchNode(server, owner, id)
    } catch (error) {
      await server.close()
      throw error
    }
  }

  /** The folder of the profiles. */
  get home(): string {
    return join(this.server.folder, 'home')
  }

  /** Enrolls an agent whose identity is a profile of the program. */
  async profile(name: string): Promise<void> {
    await this.run(['enroll', '--url', this.server.url, '--profile', name], {
      stdin: `${await this.#code(name)}\n`,
    })
  }

  /** Enrolls an agent of this process that stores nothing on disk. */
  async bridge(name: string): Promise<Bridge> {
    const { privateKey } = generateKeyPair()
    const baseUrl = this.server.url
    const record = await enroll({ baseUrl, code: await this.#code(name), privateKey })
    return new Bridge({ baseUrl, identity: new Identity(record, { privateKey }) })
  }

  /** Runs a command that must succeed; `onError` gets the standard error so far. */
  async run(args: readonly string[], { stdin = '', onError }: RunOptions = {}): Promise<Ran> {
    const { PATH } = process.env
    const env = { PATH, HOME: this.server.folder, BRIDGE_HOME: this.home }
    const child = spawn(process.execPath, [program, ...args], { env })
    const texts = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text
        if (name === 'stderr') onError?.(texts.stderr)
      })
    child.stdin.end(stdin)
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`bridge ${args.join(' ')} exited ${code}: ${texts.stderr}`)
    return texts
  }

  close(): Promise<void> {
    return this.server.close()
  }

  async #code(name: string): Promise<string> {
    const { id } = await this.#owner.createAgent(this.#projectId, name)
    return this.#owner.enrollmentCode(this.#projectId, id)
  }
}
