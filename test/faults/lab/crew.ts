/**
 * The writers from the view of a test: agents created through the owner, and the process in which they run.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exportPrivateKey } from '../../../sdk/signing/keys.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import type { TestOwner } from '../../support/owner.ts'
import { readLog } from './client-log.ts'
import type { Operation } from './history.ts'
import type { WriterSpec } from './writer.ts'
import type { Order, Told } from './writers-process.ts'

const stuckMs = 60_000

const entry = fileURLToPath(new URL('./writers-process.ts', import.meta.url))

export interface EnlistOptions {
  readonly count: number
  readonly folder: string
  readonly seed: number
  /** Pause of each writer after an operation, by default none. */
  readonly pauseMs?: number | undefined
}

/** Creates `count` agents in pairs, each pair with its conversation. */
export async function enlist(
  owner: TestOwner,
  { count, folder, seed, pauseMs = 0 }: EnlistOptions,
): Promise<WriterSpec[]> {
  const project = await owner.createProject('faults', { policy: { message_budget: 1_000_000 } })
  const agents: TestAgent[] = []
  for (let index = 0; index < count; index++) {
    const { id } = await owner.createAgent(project.id, `writer-${index}`)
    const code = await owner.enrollmentCode(project.id, id)
    const agent = await enroll(owner.baseUrl, code, () => new Date())
    await agent.startSession()
    agents.push(agent)
  }
  const specs: WriterSpec[] = []
  for (const [index, agent] of agents.entries()) {
    const peer = agents[index ^ 1] ?? agent
    specs.push({
      enrolled: agent.enrolled,
      privateKey: exportPrivateKey(agent.keys.privateKey),
      instanceId: agent.instanceId,
      peerId: peer.id,
      conversationId: await agent.conversationWith(peer.id),
      logPath: join(folder, `${agent.name}.log`),
      seed: seed + index * 1_000_003,
      pauseMs,
    })
  }
  return specs
}

export class Crew {
  readonly specs: readonly WriterSpec[]
  readonly #url: string
  readonly #stops: boolean
  #child: ChildProcess
  #drained = Promise.withResolvers<void>()
  #starts = 1
  #answered = 0
  #wanted: { count: number; reached: () => void } | undefined

  /**
   * By default the server stops and starts again, and a lost answer is repeated after its next start. If it never
   * `stops`, a lost answer is a fault, which ends every wait for the writers.
   */
  constructor(
    url: string,
    specs: readonly WriterSpec[],
    { stops = true }: { readonly stops?: boolean } = {},
  ) {
    this.#url = url
    this.#stops = stops
    this.specs = specs
    this.#child = this.#begin()
  }

  get answered(): number {
    return this.#answered
  }

  #begin(): ChildProcess {
    const child = fork(entry, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#drained = Promise.withResolvers()
    this.#drained.promise.catch(() => {})
    child.on('message', (news: Told) => {
      if (news.told === 'answered') this.#countAnswer()
      else if (news.told === 'drained') this.#drained.resolve()
      else if (!this.#stops) this.#drained.reject(new Error(`a call got no answer: ${news.call}`))
    })
    child.once('exit', (code) => this.#drained.reject(new Error(`the writers ended with ${code}`)))
    this.#order(child, { do: 'work', url: this.#url, starts: this.#starts, writers: [...this.specs] })
    return child
  }

  #countAnswer(): void {
    this.#answered += 1
    if (this.#wanted && this.#answered >= this.#wanted.count) this.#wanted.reached()
  }

  /** Writers that have just ended cannot be told; their exit is what the test hears. */
  #order(child: ChildProcess, order: Order): void {
    if (child.connected) child.send(order, () => {})
  }

  /** Resolves after this many more calls were answered with 200. @throws if the writers end first, or stand still */
  answers(more: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wanted = { count: this.#answered + more, reached: resolve }
    return this.#unlessStuck(Promise.race([promise, this.#drained.promise]))
  }

  /** If no call was answered for longer than any fault of these tests lasts, throws the last call of each writer. */
  async #unlessStuck(wait: Promise<void>): Promise<void> {
    let before = this.#answered
    const stuck = Promise.withResolvers<never>()
    const watch = setInterval(() => {
      if (this.#answered === before)
        stuck.reject(new Error(`the writers stand still after ${before} answers:\n${this.#lastCalls()}`))
      before = this.#answered
    }, stuckMs)
    try {
      await Promise.race([wait, stuck.promise])
    } finally {
      clearInterval(watch)
    }
  }

  #lastCalls(): string {
    const lines = this.specs.map(({ logPath }) => {
      const last = readLog(logPath).at(-1)
      if (last === undefined || last.returned === Number.POSITIVE_INFINITY) return `${last?.op}: open`
      return `${last.op}: ${last.outcome} ${last.code} ${last.answer.slice(0, 200)}`
    })
    return lines.join('\n')
  }

  /** Reports to the writers that the server runs again. */
  serverStarted(): void {
    this.#starts += 1
    this.#order(this.#child, { do: 'hear', starts: this.#starts })
  }

  /** Kills the clients like the server, and starts them again from their logs. */
  async killAndBeginAgain(): Promise<void> {
    await this.close()
    this.#child = this.#begin()
  }

  /** Stops new work: settles every open call, reads every inbox to its end, and closes every log. */
  async drain(): Promise<void> {
    this.#order(this.#child, { do: 'drain' })
    await this.#unlessStuck(this.#drained.promise)
    await this.close()
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }

  operations(): Operation[] {
    return this.specs.flatMap(({ logPath }) => readLog(logPath))
  }
}
