/**
 * Everything that a command may use; each part is created on first use.
 *
 * Only this CLI file reads `process.env`. It also creates the clock and the random source and passes them on.
 */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { Bridge, BridgeOptions, Fetch } from '../sdk/index.ts'
import { isProfileName, profileFiles, profilesHome } from '../sdk/profile/profile-files.ts'
import type { GlobalOptions } from './command.ts'
import { nothingTyped, type Takes } from './failures/field-words.ts'
import { SeenIds } from './ids/seen.ts'
import type { Agent } from './profile/agent.ts'
import { asTyped, calledAs } from './terminal/as-typed.ts'
import { createIo, type Io, type Streams } from './terminal/io.ts'
import { createOutput, type Output } from './terminal/output.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Settings {
  json: boolean
  profile: string
  /** The data folder given with `--data`, if any. */
  data?: string
}

/** Parts that differ between the real process and a test. */
export interface Surroundings {
  readonly streams: Streams
  readonly environment: Environment
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
  readonly homeDirectory: string
  /** Aborted by SIGINT or SIGTERM, or when the reader of a print-only command closes standard output. */
  readonly interruption: AbortController
  /**
   * Replaces the fetch function for clients of the node, to share its connections. A profile with an authority of its
   * own has its own connections.
   */
  readonly fetch?: () => Promise<Fetch>
  /** Replaces the pauses of clients of the node. */
  readonly sleep?: BridgeOptions['sleep']
  /** Whether texts show whole ids, for a surface other than a terminal. */
  readonly wholeIds?: true
  /** Rewrites our own hints first, for a surface other than a shell. */
  readonly spell?: (text: string) => string
  /** How the program was called, if not as `bridge`. */
  readonly program?: string | undefined
}

export interface CliContext {
  readonly io: Io
  readonly output: Output
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
  readonly sleep?: BridgeOptions['sleep']
  readonly environment: Environment
  /** Folder that holds all profiles (BRIDGE_HOME). */
  readonly home: string
  /** Home folder of the user. */
  readonly homeDirectory: string
  /** The ids that this profile printed; see ids/seen.ts. */
  readonly ids: SeenIds
  /** Profile and output format, set from the command line before a command runs. */
  readonly settings: Readonly<Settings>
  /** Interruption signal; pass it to every operation that waits. */
  readonly signal: AbortSignal
  /** Ids of the outbox entries that this command could not send. */
  readonly keptIds: readonly string[]
  /** Address of the node that the command talks to, once known; for hints. */
  address: string | undefined
  /**
   * The fetch function for clients of the node, which trusts `ca` besides the authorities of the process; see
   * http-fetch.ts.
   */
  fetch(ca?: string): Promise<Fetch>
  /**
   * The identity of the profile and its Bridge. @throws CommandError if the profile has no usable identity.
   */
  agent(): Promise<Agent>
  /** The Bridge of {@link agent}. */
  bridge(): Promise<Bridge>
  /**
   * Whether the command only prints. Such a command ends when its reader closes the pipe; see print-only.ts.
   */
  readonly onlyPrints: boolean
  /** How the program was called, if not as `bridge`. */
  readonly program: string | undefined
  /** Rewrites the commands in a hint so that they can be pasted; see as-typed.ts. */
  typed(text: string): string
  /** The words, options and arguments of the running command. */
  readonly takes: Takes
  /** Uses the profile that the input of a command names, unless the user chose one. */
  preferProfile(name: string): void
  configure(options: GlobalOptions, command?: { readonly onlyPrints: boolean; readonly takes: Takes }): void
}

export function createContext(surroundings: Surroundings): CliContext {
  const { streams, environment, clock, random, homeDirectory, interruption, program } = surroundings
  const settings: Settings = { json: false, profile: environment.BRIDGE_PROFILE || 'default' }
  let isProfileChosen = Boolean(environment.BRIDGE_PROFILE)
  let onlyPrints = false
  let takes = nothingTyped
  const endWithReader = () => {
    if (onlyPrints && io.closedBy !== undefined) interruption.abort()
  }
  const io = createIo(streams, endWithReader)
  // A pending read of standard input does not watch the signal, so the stream itself is destroyed.
  interruption.signal.addEventListener('abort', () => streams.stdin.destroy(), { once: true })
  const typed = (text: string) =>
    asTyped(surroundings.spell?.(text) ?? text, {
      profile: settings.profile === 'default' ? undefined : settings.profile,
      data: settings.data,
      program,
      byNpx: environment.npm_command === 'exec' && environment.npm_lifecycle_event === 'npx',
    })
  const home = profilesHome(environment, homeDirectory)
  const ids = new SeenIds(() => seenFolder(home, settings.profile, takes.words))
  const keptIds: string[] = []
  const fetches = new Map<string | undefined, Promise<Fetch>>()
  let agent: Promise<Agent> | undefined
  const context: CliContext = {
    io,
    output: createOutput({ io, settings, typed, ids, wholeIds: surroundings.wholeIds }),
    ids,
    program,
    typed,
    clock,
    random,
    sleep: surroundings.sleep,
    environment,
    home,
    homeDirectory,
    settings,
    signal: interruption.signal,
    keptIds,
    address: undefined,
    fetch: (ca) => {
      const shared = ca === undefined ? surroundings.fetch : undefined
      const made = () => import('./startup/http-fetch.ts').then(({ httpFetch }) => httpFetch({ ca }))
      const fetch = fetches.get(ca) ?? (shared ?? made)()
      fetches.set(ca, fetch)
      return fetch
    },
    agent: () => {
      const onKept = ({ id }: { readonly id: string }) => keptIds.push(id)
      agent ??= import('./profile/agent.ts').then(async ({ openAgent }) => {
        const opened = await openAgent(context, { onKept })
        ids.me = opened.profile.identity.agent.id
        return opened
      })
      return agent
    },
    bridge: async () => (await context.agent()).bridge,
    get onlyPrints() {
      return onlyPrints
    },
    get takes() {
      return takes
    },
    preferProfile: (name) => {
      if (!isProfileChosen) settings.profile = name
    },
    configure: (options, command) => {
      onlyPrints = command?.onlyPrints === true
      if (command !== undefined) takes = command.takes
      endWithReader()
      settings.json = options.json === true
      if (options.profile !== undefined) {
        settings.profile = options.profile
        isProfileChosen = true
      }
      if (options.data !== undefined) settings.data = resolve(options.data)
    },
  }
  return context
}

/**
 * Folder for the ids that a command prints. The owner's ids are apart, because the owner may use the profile of
 * an agent. Commands for the host have none.
 */
function seenFolder(home: string, profile: string, words: string): string | undefined {
  if (!isProfileName(profile) || /^(server|up|helper|help|completion|hooks|)( |$)/.test(words))
    return undefined
  const { seen, seenByOwner } = profileFiles(home, profile)
  return words.startsWith('admin ') ? seenByOwner : seen
}

/** Creates the context of this process. A second SIGINT or SIGTERM exits immediately. */
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
    // node:crypto is the largest module that a short command would load, so it is loaded on first use.
    random: (bytes) => process.getBuiltinModule('node:crypto').randomBytes(bytes),
    homeDirectory: homedir(),
    program: calledAs(process.argv[1]),
    interruption,
  })
}
