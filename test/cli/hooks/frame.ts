/** Hooks in this process: the input of a harness in, standard output, standard error and exit code out. */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { HookContext } from '../../../cli/hooks/context.ts'
import { processOf } from '../../../cli/hooks/harness-process.ts'
import { type LogLine, readLog } from '../../../cli/hooks/hook-log.ts'
import { parseInput } from '../../../cli/hooks/input.ts'
import type { HookExit } from '../../../cli/hooks/parts.ts'
import { homeLog, type Places, placesOf } from '../../../cli/hooks/places.ts'
import { runHook } from '../../../cli/hooks/run.ts'
import { openSession } from '../../../cli/hooks/session.ts'
import { type WaiterEnd, type WaiterOptions, wait } from '../../../cli/hooks/waiter.ts'

export interface HookRun {
  readonly exit: HookExit
  readonly stdout: string
  readonly stderr: string
}

export interface HookOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** The whole standard input, in place of the fields. */
  readonly stdin?: string
  readonly out?: (text: string) => void
  readonly elapsedMs?: () => number
}

/** One harness session on a machine with profiles. */
export class HookFrame {
  readonly home: string
  readonly profile: string
  readonly sessionId: string
  readonly #clock: () => Date
  /** Id of a living process that stands for the harness. */
  readonly parent: number

  constructor(
    home: string,
    profile: string,
    options: { sessionId: string; clock?: () => Date; parent?: number },
  ) {
    this.home = home
    this.profile = profile
    this.sessionId = options.sessionId
    this.#clock = options.clock ?? (() => new Date())
    this.parent = options.parent ?? process.pid
  }

  get places(): Places {
    return placesOf(this.home, this.profile)
  }

  get log(): LogLine[] {
    return [...readLog(this.places.log), ...readLog(homeLog(this.home))]
  }

  removeLog(): void {
    for (const path of [this.places.log, homeLog(this.home)]) rmSync(path, { force: true })
  }

  async run(
    harness: string,
    event: string,
    fields: object = {},
    options: HookOptions = {},
  ): Promise<HookRun> {
    const written = { stdout: '', stderr: '' }
    const {
      stdin = JSON.stringify({
        session_id: this.sessionId,
        cwd: '/srv/demo',
        hook_event_name: event,
        ...fields,
      }),
    } = options
    const context = this.#context(options, written, stdin)
    const exit = await runHook(context, [harness, event])
    return { exit, ...written }
  }

  /** Runs a waiter of Claude Code without its process; wakes are written nowhere. */
  async wait({
    signal,
    ...options
  }: Partial<WaiterOptions> & { readonly signal?: AbortSignal } = {}): Promise<WaiterEnd> {
    const text = JSON.stringify({ session_id: this.sessionId, cwd: '/srv/demo' })
    const context = this.#context(signal === undefined ? {} : { signal }, { stdout: '', stderr: '' }, text)
    const session = openSession(context, 'claude', 'wait', parseInput('claude', text), this.profile)
    if (session === undefined) throw new Error('the session has no profile')
    return wait(context, session, {
      harness: processOf(this.parent),
      own: processOf(process.pid),
      isStart: false,
      wake: () => {},
      endsWithWake: true,
      log: () => {},
      ...options,
    })
  }

  #context(options: HookOptions, written: { stdout: string; stderr: string }, stdin: string): HookContext {
    return {
      environment: {
        CLAUDE_CODE_ENTRYPOINT: 'cli',
        CLAUDE_PID: String(this.parent),
        BRIDGE_PROFILE: this.profile,
        ...options.environment,
      },
      home: this.home,
      workingDirectory: '/srv/demo',
      clock: this.#clock,
      random: randomBytes,
      process: { pid: process.pid, parent: this.parent },
      program: '/opt/agent-bridge/dist/bridge.cjs',
      signal: options.signal ?? AbortSignal.timeout(60_000),
      elapsedMs: options.elapsedMs ?? (() => 0),
      input: async () => stdin,
      out: (text) => {
        options.out?.(text)
        written.stdout += text
      },
      err: (text) => {
        written.stderr += text
      },
    }
  }
}

/** The notice in the output of Claude Code, or undefined without output. */
export function contextOf({ stdout }: HookRun): string | undefined {
  if (stdout === '') return undefined
  return JSON.parse(stdout).hookSpecificOutput.additionalContext
}
