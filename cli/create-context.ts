/**
 * Creates everything that a command may use; each part is created on first use.
 *
 * Only this CLI file reads `process.env`. It also creates the clock and the random source and passes them on.
 */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { Fetch } from '../sdk/index.ts'
import { isProfileName, profileFiles, profilesHome } from '../sdk/profile/profile-files.ts'
import type { Agent, CliContext, Settings, Surroundings } from './context.ts'
import { SeenIds } from './ids/seen.ts'
import { asTyped, calledAs } from './terminal/as-typed.ts'
import { noCommand } from './terminal/current-command.ts'
import { createIo } from './terminal/io.ts'
import { createOutput } from './terminal/output.ts'

export function createContext(surroundings: Surroundings): CliContext {
  const { streams, environment, clock, random, homeDirectory, interruption, program } = surroundings
  const settings: Settings = { json: false, profile: environment.BRIDGE_PROFILE || 'default' }
  let isProfileChosen = Boolean(environment.BRIDGE_PROFILE)
  let onlyPrints = false
  let current = noCommand
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
  const ids = new SeenIds(() => seenFolder(home, settings.profile, current.words))
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
    get current() {
      return current
    },
    preferProfile: (name) => {
      if (!isProfileChosen) settings.profile = name
    },
    configure: (options, command) => {
      onlyPrints = command?.onlyPrints === true
      if (command !== undefined) current = command.current
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
 * Folder for the ids that a command prints. The owner's ids are apart, because the owner may use the profile
 * of an agent. Commands for the host have none.
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
