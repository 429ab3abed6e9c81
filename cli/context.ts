/**
 * What a command may reach, each part made when it is first asked for.
 *
 * The only CLI file that reads `process.env`; clock and randomness are made here and handed on.
 */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { Bridge, Fetch } from '../sdk/index.ts'
import { profilesHome } from '../sdk/storage/profile-files.ts'
import type { GlobalOptions } from './command.ts'
import { nothingTyped, type Takes } from './failures/field-words.ts'
import type { Agent } from './profile/agent.ts'
import { asTyped } from './terminal/as-typed.ts'
import { createIo, type Io, type Streams } from './terminal/io.ts'
import { createOutput, type Output } from './terminal/output.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Settings {
  json: boolean
  profile: string
  /** The data folder, where the command line names one. */
  data?: string
}

/** What differs between the real process and a test. */
export interface Surroundings {
  readonly streams: Streams
  readonly environment: Environment
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
  readonly homeDirectory: string
  /** Aborted by SIGINT and SIGTERM, or when nobody reads any more what a command only prints. */
  readonly interruption: AbortController
}

export interface CliContext {
  readonly io: Io
  readonly output: Output
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
  readonly environment: Environment
  /** The folder of every profile, BRIDGE_HOME. */
  readonly home: string
  /** Which profile, and whether to print JSON; filled from the command line before a command runs. */
  readonly settings: Readonly<Settings>
  /** Give it to everything that waits. */
  readonly signal: AbortSignal
  /** Ids of the outbox entries that this command had to leave there. */
  readonly keptIds: readonly string[]
  /** Of the node that the command talks to, once it is known; for hints. */
  address: string | undefined
  /** For clients of the node; see http-fetch.ts. */
  fetch(): Promise<Fetch>
  /** The identity of the profile and its Bridge. @throws CommandError when there is none that can be used. */
  agent(): Promise<Agent>
  /** The Bridge of {@link agent}. */
  bridge(): Promise<Bridge>
  /** Whether the command does nothing but print, so that it ends with its reader; see print-only.ts. */
  readonly onlyPrints: boolean
  /** A sentence of ours that names commands, each spelled as it has to be typed after this one. */
  typed(text: string): string
  /** The command, with its options and arguments. */
  readonly takes: Takes
  configure(options: GlobalOptions, command?: { readonly onlyPrints: boolean; readonly takes: Takes }): void
}

export function createContext(surroundings: Surroundings): CliContext {
  const { streams, environment, clock, random, homeDirectory, interruption } = surroundings
  const settings: Settings = { json: false, profile: environment.BRIDGE_PROFILE || 'default' }
  let onlyPrints = false
  let takes = nothingTyped
  const endWithReader = () => {
    if (onlyPrints && io.closedBy !== undefined) interruption.abort()
  }
  const io = createIo(streams, endWithReader)
  // Reading standard input waits for nothing else.
  interruption.signal.addEventListener('abort', () => streams.stdin.destroy(), { once: true })
  const typed = (text: string) =>
    asTyped(text, {
      profile: settings.profile === 'default' ? undefined : settings.profile,
      data: settings.data,
      byNpx: environment.npm_command === 'exec' && environment.npm_lifecycle_event === 'npx',
    })
  const keptIds: string[] = []
  let fetch: Promise<Fetch> | undefined
  let agent: Promise<Agent> | undefined
  const context: CliContext = {
    io,
    output: createOutput(io, settings, typed),
    typed,
    clock,
    random,
    environment,
    home: profilesHome(environment, homeDirectory),
    settings,
    signal: interruption.signal,
    keptIds,
    address: undefined,
    fetch: () => {
      fetch ??= import('./startup/http-fetch.ts').then(({ httpFetch }) => httpFetch())
      return fetch
    },
    agent: () => {
      const onKept = ({ id }: { readonly id: string }) => keptIds.push(id)
      agent ??= import('./profile/agent.ts').then(({ openAgent }) => openAgent(context, { onKept }))
      return agent
    },
    bridge: async () => (await context.agent()).bridge,
    get onlyPrints() {
      return onlyPrints
    },
    get takes() {
      return takes
    },
    configure: (options, command) => {
      onlyPrints = command?.onlyPrints === true
      if (command !== undefined) takes = command.takes
      endWithReader()
      settings.json = options.json === true
      if (options.profile !== undefined) settings.profile = options.profile
      if (options.data !== undefined) settings.data = resolve(options.data)
    },
  }
  return context
}

/** The context of this process. A second SIGINT or SIGTERM ends it at once. */
export function processContext(): CliContext {
  const interruption = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (interruption.signal.aborted) process.exit(130)
      interruption.abort()
    })
  }
  return createContext({
    streams: process,
    environment: process.env,
    clock: () => new Date(),
    // Most of what a short command would load: not before it is needed.
    random: (bytes) => process.getBuiltinModule('node:crypto').randomBytes(bytes),
    homeDirectory: homedir(),
    interruption,
  })
}
