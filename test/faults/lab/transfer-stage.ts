/**
 * A node, a sender and a recipient, each a separate process, connected through proxies. One of them is killed
 * at a chosen step, and the state afterwards is checked.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transfer } from '../../../sdk/index.ts'
import { childrenOf, isRunning } from '../../support/child-processes.ts'
import { moments, openWire, type Strike, type Wire } from '../../support/cut-proxy.ts'
import { freePort } from '../../support/free-port.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { attach, mostOfOneThread, type Tracer } from '../../support/strace.ts'
import { type Ended, type Started, TestHome } from '../../support/test-home.ts'
import { comes, wrongAfter } from './transfer-outcome.ts'

export const roles = ['sender', 'recipient', 'helper'] as const
export type Role = (typeof roles)[number]
export type Victim = Role | 'server'
export type Mode = 'package' | 'direct'

export interface Scenario {
  readonly mode: Mode
  readonly sealed: boolean
  /** The connection, the request, and the moment of the kill. */
  readonly on: Role
  readonly step: string
  readonly moment: Strike['moment']
  readonly victim: Victim
  /** The continuation after the kill: the same commands again, or a cancellation by the peer. */
  readonly afterwards: 'again' | 'cancel'
}

/** A process that is killed at one of its own system calls. */
export interface Death {
  readonly mode: Mode
  readonly sealed: boolean
  readonly victim: 'sender' | 'recipient' | 'server'
  /** The name that strace uses. */
  readonly call: string
  /** The number of the call, counted per thread. */
  readonly nth: number
}

/** Two parts: the smallest part that the commands make has 8 MiB. */
const bytes = Buffer.concat([randomBytes(8 * 1024 * 1024), randomBytes(5000)])

const mostRuns = 6
/** Killed, or the node was unreachable. Control-C does not occur here. */
const mayBeRunAgain = new Set<number | null>([null, 9])

export class Stage {
  readonly #server: ServerProcess
  readonly #home: TestHome
  readonly #wires: Readonly<Record<Role, Wire>>
  readonly #helperPort: number
  readonly #owner: TestOwner
  readonly #project: { id: string }
  readonly #running: Partial<Record<'sender' | 'recipient', Started>> = {}
  /** The program under which the next command of a role runs. */
  #under: Partial<Record<'sender' | 'recipient', readonly string[]>> = {}
  #onDeath = () => {}
  #count = 0

  private constructor(parts: {
    server: ServerProcess
    home: TestHome
    wires: Record<Role, Wire>
    helperPort: number
    owner: TestOwner
    project: { id: string }
  }) {
    this.#server = parts.server
    this.#home = parts.home
    this.#wires = parts.wires
    this.#helperPort = parts.helperPort
    this.#owner = parts.owner
    this.#project = parts.project
  }

  static async open(): Promise<Stage> {
    const server = await startServerProcess()
    const home = await TestHome.make()
    const helperPort = await freePort()
    const toServer = () => server.port
    const wires = {
      sender: await openWire(toServer),
      recipient: await openWire(toServer),
      helper: await openWire(() => helperPort),
    }
    const owner = await setUpOwner(server.url, server.setupLink)
    const project = await owner.createProject('demo')
    const stage = new Stage({ server, home, wires, helperPort, owner, project })
    try {
      for (const role of ['sender', 'recipient'] as const) await stage.#enroll(role)
      return stage
    } catch (error) {
      await stage.close()
      throw error
    }
  }

  /** The keys to which files are sealed. */
  async #haveKey(): Promise<void> {
    if (!existsSync(this.#home.path('recipient', 'age.key'))) await this.#run(['key', 'create'], 'recipient')
  }

  async #enroll(role: 'sender' | 'recipient'): Promise<void> {
    const { id } = await this.#owner.createAgent(this.#project.id, role)
    const code = await this.#owner.enrollmentCode(this.#project.id, id)
    const words = ['enroll', '--url', this.#wires[role].url, '--profile', role]
    const { code: exit, stderr } = await this.#home.run(words, { stdin: `${code}\n` })
    if (exit !== 0) throw new Error(`bridge enroll exited ${exit}: ${stderr}`)
  }

  async close(): Promise<void> {
    await this.#home.remove()
    for (const role of roles) await this.#wires[role].close()
    await this.#server.close()
  }

  /**
   * Returns every step of an undisturbed transfer, as scenarios with the processes that can be killed at it.
   */
  async steps(mode: Mode, sealed: boolean): Promise<Scenario[]> {
    const undisturbed: Scenario = {
      mode,
      sealed,
      on: 'sender',
      step: '',
      moment: 'asked',
      victim: 'server',
      afterwards: 'again',
    }
    await this.#haveKey()
    // The first run also looks up the peer.
    const wrong = [...(await this.play(undisturbed)), ...(await this.play(undisturbed))]
    if (wrong.length > 0) throw new Error(`undisturbed: ${wrong.join('; ')}`)
    return roles.flatMap((on) =>
      this.#wires[on].asked
        // The sender polls every half second, so only the first two polls are certain to occur.
        .filter((step) => Number(/#(\d+)$/.exec(step)?.[1]) <= 2)
        .flatMap((step) =>
          moments
            .filter((moment) => moment !== 'half' || this.#wires[on].large.has(step))
            .flatMap((moment) =>
              victimsOn(on).flatMap((victim) =>
                (moment === 'half' ? (['again', 'cancel'] as const) : (['again'] as const)).map(
                  (afterwards): Scenario => ({ mode, sealed, on, step, moment, victim, afterwards }),
                ),
              ),
            ),
        ),
    )
  }

  /** Plays a scenario to its end; returns the faults. */
  async play(scenario: Scenario): Promise<string[]> {
    this.#count += 1
    const box = join(this.#home.folder, `box-${this.#count}`)
    const file = join(this.#home.folder, `file-${this.#count}.bin`)
    await mkdir(box)
    await writeFile(file, bytes)
    for (const role of roles) void this.#wires[role].arm()
    let hasStruck = scenario.step === ''
    const survived: string[] = []
    const act = async () => {
      hasStruck = true
      await this.#kill(scenario.victim).catch((error: Error) => survived.push(error.message))
    }
    const { step, moment } = scenario
    const struck = step === '' ? Promise.resolve() : this.#wires[scenario.on].arm({ step, moment, act })
    try {
      const id = await within(120_000, this.#transfer(scenario, { box, file, struck }))
      await this.#tidyUp(id)
      const found = await wrongAfter(scenario.afterwards, {
        ...{ box, file, id, bytes },
        transfers: await this.#listed(),
        kept: (['sender', 'recipient'] as const).map((role) => this.#home.path(role, 'transfers')),
        packages: join(this.#server.data, 'packages'),
      })
      const wrong = [...survived, ...found]
      // A poll may have another number than in the undisturbed run.
      return hasStruck || step.startsWith('GET /api/v1/transfers/{id} #')
        ? wrong
        : [...wrong, 'nothing was killed']
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)]
    } finally {
      for (const started of Object.values(this.#running)) started.child.kill('SIGKILL')
      for (const started of Object.values(this.#running)) await started.ended
      await rm(box, { recursive: true, force: true })
      await rm(file, { force: true })
    }
  }

  /** Counts these calls of an undisturbed process, in the thread that makes each most often. */
  async countCalls(
    { mode, sealed, victim }: Omit<Death, 'call' | 'nth'>,
    calls: readonly string[],
  ): Promise<Map<string, number>> {
    await this.#haveKey()
    const file = join(this.#home.folder, 'calls')
    const { wrong } = await this.#playUnder({ mode, sealed, victim }, [
      '-e',
      `trace=${calls.join()}`,
      '-o',
      file,
    ])
    if (wrong.length > 0) throw new Error(`undisturbed: ${wrong.join('; ')}`)
    return mostOfOneThread(await readFile(file, 'utf8'))
  }

  /** Like {@link play}, with a kill at a system call instead of at a request. */
  playDeath({ call, nth, ...death }: Death): Promise<{ wrong: string[]; died: boolean }> {
    const inject = `inject=${call}:signal=SIGKILL:when=${nth}`
    return this.#playUnder(death, ['-e', `trace=${call}`, '-e', inject, '-o', '/dev/null'])
  }

  async #playUnder(
    { mode, sealed, victim }: Omit<Death, 'call' | 'nth'>,
    options: readonly string[],
  ): Promise<{ wrong: string[]; died: boolean }> {
    let died = false
    let isOver = false
    let tracer: Tracer | undefined
    if (victim === 'server') {
      tracer = await attach(this.#server.pid, options)
      void this.#server.ended.then(async () => {
        if (isOver) return
        died = true
        await this.#server.start()
      })
    } else {
      this.#under[victim] = ['strace', '-f', '-qq', ...options]
      this.#onDeath = () => {
        died = true
      }
    }
    try {
      const scenario = { on: 'sender', step: '', moment: 'asked', victim, afterwards: 'again' } as const
      const wrong = await this.play({ mode, sealed, ...scenario })
      return { wrong, died }
    } finally {
      isOver = true
      this.#under = {}
      await tracer?.detach()
    }
  }

  /** Repeats the same two commands until both have finished; returns the id. */
  async #transfer(
    { mode, sealed, afterwards }: Scenario,
    { box, file, struck }: { box: string; file: string; struck: Promise<void> },
  ): Promise<string> {
    const tunnel = `${this.#wires.helper.url}=${this.#helperPort}`
    const way = mode === 'direct' ? ['--direct', '--tunnel', tunnel, '--allow-plain'] : []
    const seal = sealed ? '--encrypt' : '--no-encrypt'
    const send = ['transfer', 'send', file, '--to', 'recipient', seal, ...way]
    const receive = (id: string) => [
      ...['transfer', 'receive', id, '--output', `${box}/`],
      ...(mode === 'direct' ? ['--allow-plain'] : []),
    ]
    if (afterwards === 'cancel') return this.#cancelled({ send, receive, file, struck })
    if (mode === 'package') {
      await this.#untilDone('sender', send)
      const id = await this.#offered(file)
      await this.#untilDone('recipient', receive(id))
      return id
    }
    const sent = this.#untilDone('sender', send)
    sent.catch(() => {})
    const id = await Promise.race([this.#offered(file), sent.then(() => this.#offered(file))])
    const received = this.#untilDone('recipient', receive(id))
    await Promise.all([received, sent])
    return id
  }

  /** Plays a kill in the middle after which the other side cancels. */
  async #cancelled({
    send,
    receive,
    file,
    struck,
  }: {
    send: string[]
    receive: (id: string) => string[]
    file: string
    struck: Promise<void>
  }): Promise<string> {
    const sent = this.#untilDone('sender', send, 1).catch(() => undefined)
    const id = await Promise.race([this.#offered(file), struck.then(() => this.#offered(file))])
    const received = this.#untilDone('recipient', receive(id), 1).catch(() => undefined)
    await struck
    await this.#owner.ok({
      target: `/api/admin/projects/${this.#project.id}/transfers/${id}/cancel`,
      body: {},
    })
    await Promise.all([sent, received])
    return id
  }

  async #untilDone(role: 'sender' | 'recipient', words: readonly string[], runs = mostRuns): Promise<Ended> {
    for (let run = 1; ; run += 1) {
      const under = this.#under[role]
      delete this.#under[role]
      // One thread for all file operations, so that the calls of a run have one order.
      const environment = under === undefined ? {} : { UV_THREADPOOL_SIZE: '1' }
      const started = this.#home.start([...words, '--profile', role], { environment, under })
      started.child.stdin.end()
      this.#running[role] = started
      const ended = await started.ended
      if (ended.code === 0) return ended
      if (under !== undefined) this.#onDeath()
      // A command whose output shows that it finished is not repeated.
      if (/^(uploaded|served|received) .*\n$/m.test(ended.stdout)) return ended
      if (mayBeRunAgain.has(ended.code) && run < runs) continue
      throw new Error(`${role}, run ${run}: exit ${ended.code}: ${ended.stderr}`)
    }
  }

  /** Returns the transfer of this file once it is offered, since the commands print the end of its id only. */
  async #offered(file: string): Promise<string> {
    const scenario = this.#count
    for (;;) {
      if (scenario !== this.#count) throw new Error('the scenario is over')
      const found = (await this.#listed().catch(() => [])).find(({ filename }) =>
        file.endsWith(`/${filename}`),
      )
      if (found !== undefined) return found.id
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async #listed(): Promise<Transfer[]> {
    const all: Transfer[] = []
    for (let after = ''; ; ) {
      const target = `/api/admin/projects/${this.#project.id}/transfers?limit=100${after}`
      const page = await this.#owner.ok<{ transfers: Transfer[]; has_more: boolean; next_after: string }>({
        target,
      })
      all.push(...page.transfers)
      if (!page.has_more) return all
      after = `&after=${page.next_after}`
    }
  }

  async #kill(victim: Victim): Promise<void> {
    if (victim === 'server') {
      await this.#server.kill('SIGKILL')
      await this.#server.start()
      return
    }
    if (victim === 'helper') {
      const [helper] = childrenOf(this.#running.sender?.child.pid ?? 0)
      if (helper !== undefined) process.kill(helper, 'SIGKILL')
      return
    }
    const children = childrenOf(this.#running[victim]?.child.pid ?? 0)
    this.#running[victim]?.child.kill('SIGKILL')
    await this.#running[victim]?.ended
    for (const child of children)
      if (!(await comes(() => !isRunning(child)))) throw new Error(`process ${child} outlived the ${victim}`)
  }

  /** Performs the final step of each side, killed or not. */
  async #tidyUp(id: string): Promise<void> {
    for (const role of ['sender', 'recipient'] as const)
      await this.#untilDone(role, ['transfer', 'cleanup', id])
  }

  async #run(words: readonly string[], role: 'sender' | 'recipient'): Promise<Ended> {
    const ended = await this.#home.run([...words, '--profile', role])
    if (ended.code !== 0) throw new Error(`bridge ${words.join(' ')} exited ${ended.code}: ${ended.stderr}`)
    return ended
  }
}

/** The processes to kill on a connection: its client and the node, or all of them at the helper. */
const victimsOn = (on: Role): Victim[] =>
  on === 'helper' ? ['helper', 'sender', 'recipient'] : [on, 'server']

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${ms} ms`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
