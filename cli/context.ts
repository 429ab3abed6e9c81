/** Types of everything that a command may use. `create-context.ts` makes the parts. */
import type { Bridge, BridgeOptions, Fetch } from '../sdk/index.ts'
import type { ProfilePaths, ProfileRecord } from '../sdk/profile/profile-files.ts'
import type { GlobalOptions } from './command.ts'
import type { SeenIds } from './ids/seen.ts'
import type { CurrentCommand } from './terminal/current-command.ts'
import type { Io, Streams } from './terminal/io.ts'
import type { Output } from './terminal/output.ts'

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
   * Replaces the fetch function for clients of the node, to share its connections. A profile with an
   * authority of its own has its own connections.
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

/** A profile with its Bridge. */
export interface Agent {
  readonly bridge: Bridge
  readonly profile: ProfileRecord
  readonly paths: ProfilePaths
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
  readonly current: CurrentCommand
  /** Uses the profile that the input of a command names, unless the user chose one. */
  preferProfile(name: string): void
  configure(
    options: GlobalOptions,
    command?: { readonly onlyPrints: boolean; readonly current: CurrentCommand },
  ): void
}
