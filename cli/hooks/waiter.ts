/**
 * The waiter: one background process of a harness session. It listens, so that the node shows the agent as
 * listening, and wakes the idle session when a message is due.
 *
 * - It holds the listen lock of the profile. Claude Code starts a waiter after every turn; the second one
 *   ends at once.
 * - Mail during a turn is left to the hooks of the turn: the waiter only writes `mail.json` for them, and
 *   the statement of no-mail.ts.
 * - It prints no message, keeps no journal, and acknowledges nothing.
 * - It ends by a signal, with the harness process, with the last terminal of a daemon, and when another
 *   process takes over the profile. It also ends after 23 hours, at the owner's idle limit, and at a failure
 *   that only a person can repair. It survives all other failures.
 */
import { setTimeout as timer } from 'node:timers/promises'
import type { Bridge } from '../../sdk/index.ts'
import { takeLock } from '../../sdk/storage/lock.ts'
import type { HookContext } from './context.ts'
import { isLasting } from './failure.ts'
import { removeFile, replaceObject, touch, touchedAt } from './files.ts'
import { type HarnessProcess, isAlive } from './harness-process.ts'
import { hold, letGo, readHolder } from './holder.ts'
import { hourMs, wakesPerHour } from './ledger.ts'
import { tell } from './ledger-file.ts'
import { NoMail } from './no-mail.ts'
import { openHookAgent } from './node.ts'
import type { HookSession } from './session.ts'
import { readUnread, type Unread } from './unread.ts'
import type { WaiterRecord } from './waiter-record.ts'

export interface WaiterOptions {
  readonly harness: HarnessProcess
  readonly own: HarnessProcess
  readonly isStart: boolean
  /** Wakes the session that has this name. */
  readonly wake: (session: string, unread: Unread) => void | Promise<void>
  /** Whether the waiter ends after a wake, because the harness starts another one. */
  readonly endsWithWake: boolean
  readonly log: (outcome: string, failure?: unknown) => void
  /** Whether the user has left the session, though its harness process lives. */
  readonly isLeft?: () => boolean
  /** Milliseconds between two checks of the harness process. */
  readonly checkMs?: number
  /** Milliseconds before the first look, if the session has just started. */
  readonly startMs?: number
}

export type WaiterEnd = 'woke' | 'ended' | 'not_needed'

const longestSeconds = 23 * 3600
/** After this time without a hook a turn counts as ended: an interrupted turn has no end hook. */
const turnMs = 60_000
const refreshMs = 10_000
const retryMs = 15_000
const cappedMs = 60_000
/**
 * After the end of a waiter the node counts its agent as listening for 5 s. So presence ends within 8 s of the
 * harness, also on a busy machine. A check reads two small files and takes less than 0.1 ms.
 */
const checkMs = 2000

export async function wait(
  context: HookContext,
  session: HookSession,
  options: WaiterOptions,
): Promise<WaiterEnd> {
  const { places, harness, name } = session
  const { clock } = context
  const lock = await takeLock(places.listenLock)
  if (lock === undefined) return 'not_needed'
  try {
    const since = clock().toISOString()
    const me = { harness, session: name, process: options.harness, since }
    if ((await hold(places, me, options.isStart)) !== undefined) return 'not_needed'
    const record: WaiterRecord = { harness, session: name, process: options.own, since }
    replaceObject(places.waiter, record)
    return await new Waiter(context, session, options).run()
  } finally {
    removeFile(places.mail)
    removeFile(places.waiter)
    lock.release()
  }
}

class Waiter {
  readonly #context: HookContext
  readonly #session: HookSession
  readonly #options: WaiterOptions
  readonly #closed = new AbortController()
  readonly #signal: AbortSignal
  readonly #until: Date
  readonly #noMail: NoMail
  /** Whether messages arrived since the last look began. */
  #isStirred = false
  /** Ends the pause before the next look. */
  #endPause: () => void = () => {}

  constructor(context: HookContext, session: HookSession, options: WaiterOptions) {
    this.#context = context
    this.#session = session
    this.#options = options
    this.#signal = AbortSignal.any([context.signal, this.#closed.signal])
    this.#until = new Date(context.clock().getTime() + longestSeconds * 1000)
    this.#noMail = new NoMail(session.places, context.clock)
    this.#noMail.withdraw()
  }

  async run(): Promise<WaiterEnd> {
    const check = setInterval(() => this.#check(), this.#options.checkMs ?? checkMs)
    const { bridge } = await openHookAgent(this.#context, this.#session.profile).catch((error: unknown) => {
      clearInterval(check)
      throw error
    })
    const following = this.#follow(bridge).finally(() => this.#closed.abort())
    following.catch(() => {})
    try {
      // The start hook, which runs at the same time, tells the session of the mail that is there.
      if (this.#options.isStart) await this.#sleep(this.#options.startMs ?? 2000)
      while (!this.#signal.aborted) {
        this.#isStirred = false
        const pauseMs = await this.#look(bridge)
        if (pauseMs === 'woke') return 'woke'
        await this.#pause(pauseMs)
      }
    } finally {
      clearInterval(check)
      this.#closed.abort()
      this.#noMail.withdraw()
      await following
    }
    return 'ended'
  }

  /** Ends the waiter with its harness, and when another process holds the profile. */
  #check(): void {
    const holder = readHolder(this.#session.places)
    const isHolder = holder?.process.pid === this.#options.harness.pid
    const isOver = this.#context.clock() >= this.#until
    if (isHolder && this.#options.isLeft?.() === true) {
      letGo(this.#session.places, holder.session)
      this.#closed.abort()
    }
    if (!isHolder || isOver || !isAlive(this.#options.harness)) this.#closed.abort()
    else this.#noMail.repeat()
  }

  /** Listens until the signal, the time or the owner's idle limit ends it. @throws a lasting failure. */
  async #follow(bridge: Bridge): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        const onConnection = (away?: unknown) => this.#connected(away === undefined)
        const onTransport = () => this.#connected(true)
        const options = { signal: this.#signal, until: this.#until, onConnection, onTransport }
        for await (const page of bridge.pages(options)) {
          if (page.messages.length > 0) this.#stir()
        }
        return
      } catch (error) {
        if (this.#signal.aborted) return
        if (isLasting(error)) throw error
        this.#connected(false)
        await this.#sleep(retryMs)
      }
    }
  }

  /**
   * Reads the inbox and wakes the session if a message is due. Returns the milliseconds until the next look.
   */
  async #look(bridge: Bridge): Promise<number | undefined | 'woke'> {
    const { clock, elapsedMs } = this.#context
    const { places } = this.#session
    try {
      const unread = await readUnread(bridge, { clock, elapsedMs, signal: this.#signal })
      const holder = readHolder(places)
      if (unread.total === 0 || holder === undefined) {
        removeFile(places.mail)
        if (unread.total === 0 && !this.#isStirred) this.#noMail.state()
        return undefined
      }
      replaceObject(places.mail, { session: holder.session, unread })
      removeFile(places.empty(holder.session))
      if (this.#isBusy(holder.session)) return refreshMs
      return await this.#wake(bridge, holder.session, unread)
    } catch (error) {
      if (this.#signal.aborted) return undefined
      if (isLasting(error)) throw error
      this.#noMail.withdraw()
      this.#options.log('look', error)
      return retryMs
    }
  }

  #isBusy(name: string): boolean {
    const touched = touchedAt(this.#session.places.turn(name))
    return touched !== undefined && this.#context.clock().getTime() - touched < turnMs
  }

  async #wake(bridge: Bridge, name: string, unread: Unread): Promise<number | undefined | 'woke'> {
    const { log, wake, endsWithWake } = this.#options
    const { clock } = this.#context
    const print = () => wake(name, unread)
    const told = await tell(this.#session.places, name, { unread, clock, when: 'wake', print })
    if (told.outcome === 'told') log('woke')
    if (told.outcome === 'told' && endsWithWake) return 'woke'
    if (told.outcome !== 'too_many_wakes') return told.nextMs
    await this.#leaveAlone(bridge, name, unread)
    return cappedMs
  }

  /** Tells the owner, at most once an hour, that the session is not woken for a while. */
  async #leaveAlone(bridge: Bridge, name: string, { total }: Unread): Promise<void> {
    const now = this.#context.clock()
    const mark = this.#session.places.capped(name)
    const told = touchedAt(mark)
    if (told !== undefined && now.getTime() >= told && now.getTime() - told < hourMs) return
    touch(mark, now)
    this.#options.log('too_many_wakes')
    const body = `My session was woken ${wakesPerHour} times within an hour. Unacknowledged messages: ${total}. The hooks do not wake it for a while.`
    await bridge.messages.sendTo('owner', { type: 'status', body }, { signal: this.#signal })
  }

  #connected(isConnected: boolean): void {
    this.#noMail.connected(isConnected)
    if (isConnected) this.#stir()
  }

  #stir(): void {
    this.#isStirred = true
    this.#noMail.withdraw()
    this.#endPause()
  }

  /** Pauses until the time has passed, messages arrive, or the waiter ends. */
  async #pause(ms: number | undefined): Promise<void> {
    if (this.#isStirred) return
    const ended = new AbortController()
    this.#endPause = () => ended.abort()
    // Without unacknowledged messages only an arrival matters.
    const pauseMs = ms === undefined ? longestSeconds * 1000 : Math.max(ms, 10)
    await this.#sleep(pauseMs, AbortSignal.any([this.#signal, ended.signal]))
  }

  async #sleep(ms: number, signal = this.#signal): Promise<void> {
    await timer(ms, undefined, { signal }).catch(() => {})
  }
}
