/**
 * `bridge up`: from an empty machine to prompts for coding agents, in one command.
 *
 * - It creates the installation, runs the node in the foreground, and creates the owner, a project and agents.
 *   It uses what exists.
 * - If the node of the data folder is already running, it prints the prompts and ends.
 * - A user who can write the data folder may sign in as the owner, so a repeated `up` asks for no password.
 *
 * Contract §10 "Sign-in", §12.
 */
import { existsSync } from 'node:fs'
import type { Config } from '../../../server/main.ts'
import { type Command, command, invalid } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import type { PasswordOption } from '../../owner/client.ts'
import { invite, invitedText, reportArrivals } from '../../owner/first-agents.ts'
import { parseLink } from '../../owner/link.ts'
import { type SignInProof, signedInAt } from '../../owner/sign-in.ts'
import { openSecrets } from '../../terminal/secrets.ts'
import { createInstallation } from './init.ts'
import {
  addSettings,
  configOf,
  type Defaults,
  onHost,
  type Server,
  type SettingOptions,
  withData,
} from './settings.ts'
import { runUntilEnd, startNode } from './start.ts'
import { inTurn } from './up-turn.ts'

/** The terminal shows the prompts, so the log has no line per request. */
const defaults: Defaults = { log_level: 'warn' }

export interface UpOptions extends PasswordOption {
  readonly name?: string
  readonly project: string
  readonly agents: readonly string[]
}

export function upCommand(context: CliContext, run = up): Command {
  const made = command('up', 'bridge up')
    .description(
      'Start a node here with an owner, a project and two agents, and print a prompt to paste into each agent. Run it again to start what exists.',
    )
    .option('--name <name>', 'your name, as agents will see it (default: your user name)')
    .option('--project <name>', 'name of the project', 'demo')
    .option('--agents <names>', 'names of the agents, separated by commas', names, ['ada', 'ben'])
    .option('--password-stdin', 'read your new password from standard input')
  return withData(made).action((options: UpOptions & SettingOptions) => run(context, options))
}

/** Adds the settings of the node. Must run before the server itself is loaded, as in server.ts. */
export async function addNodeOptions(to: Command): Promise<void> {
  ;(await import('../../startup/young-generation.ts')).holdYoungGeneration()
  await addSettings(to, defaults)
}

export const up = (context: CliContext, options: UpOptions & SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const config = configOf(server, context, options, defaults)
    const { running, owner, invited } = await inTurn(context, () =>
      prepared(server, context, config, options),
    )
    if (running === undefined) {
      await owner.close()
      return
    }
    const page = context.io.isTerminal.stderr ? await server.issueOwnerLink(config) : running.url
    context.output.note(`your page, in a browser: ${page}`)
    context.output.next('control-C stops the node; bridge up starts it again')
    reportArrivals(context, owner, invited).catch(() => {
      // The node is stopping, or the sign-in has ended: nobody waits for these lines then.
    })
    await runUntilEnd(context, running)
  })

/**
 * Makes what is missing, starts the node unless it runs, and prints the prompts. If a step fails, the node that it
 * started is stopped.
 */
async function prepared(
  server: Server,
  context: CliContext,
  config: Config,
  options: UpOptions & SettingOptions,
) {
  const { output, signal } = context
  const { project, agents } = options
  await createInstallation(server, context, config, options).catch((error: unknown) => {
    if (!isOfThisHost(error, config)) throw error
  })
  const running = await startNode(context, server, config).catch(unless('DataFolderLockedError'))
  const { url } = running ?? runningAt(server, config.data)
  if (running !== undefined) output.note(`the node runs at ${url}, with its data in ${config.data}`)
  try {
    const proof = await proofOf(context, options, await linkOf(server, config))
    const { owner } = await signedInAt(context, url, proof)
    const invited = await invite(owner, { project, agents, signal })
    const wire = { url, data: config.data, running: running === undefined, ...invited }
    output.result(wire, invitedText(invited))
    if (running === undefined) output.note(`the node was already running at ${url}`)
    return { running, owner, invited }
  } catch (error) {
    await running?.stop()
    throw error
  }
}

/**
 * Returns whether an installation exists that this host runs. One in a database belongs to it if the host has
 * the envelope key.
 */
const isOfThisHost = (error: unknown, { envelopeKeyFile }: Config): boolean =>
  error instanceof Error &&
  (error.name === 'AlreadyInitialisedError' ||
    (error.name === 'DatabaseInitialisedError' && existsSync(envelopeKeyFile)))

/** Returns the address of the running node of the data folder. @throws DataFolderLockedError */
function runningAt(server: Server, data: string) {
  const found = server.readAddress(data)
  if (found !== undefined) return found
  throw new server.DataFolderLockedError(`another process holds ${data}, but no node answers there`)
}

/** Returns a handler that resolves to undefined for one kind of error, and throws every other. */
const unless = (name: string) => (error: unknown) => {
  if (error instanceof Error && error.name === name) return undefined
  throw error
}

interface HostLink {
  readonly token: string
  readonly isSetup: boolean
}

/** Makes a link with which the owner signs in, or one that creates the owner if there is none. */
async function linkOf(server: Server, config: Config): Promise<HostLink> {
  const ownerLink = await server.issueOwnerLink(config).catch((error: unknown) => {
    if (error instanceof Error && (error as { code?: unknown }).code === 'not_found') return undefined
    throw error
  })
  const link = ownerLink ?? (await server.issueSetupLink(config))
  return { token: parseLink(link).token, isSetup: ownerLink === undefined }
}

/**
 * Returns how the owner signs in. A new owner chooses a password. Without a terminal and without a given
 * password, the owner gets a random one that nobody knows, and signs in with links of the host.
 */
async function proofOf(
  context: CliContext,
  { name, passwordStdin }: UpOptions,
  { token, isSetup }: HostLink,
): Promise<SignInProof> {
  if (!isSetup) return { linkToken: token }
  const user = name ?? (context.environment.USER || context.environment.USERNAME || 'owner')
  if (passwordStdin === true || context.io.isTerminal.stdin) {
    const secrets = openSecrets(context.io, passwordStdin === true)
    const what = `new password of ${theOwner(user)}, at least 12 characters`
    return { token, name: user, password: await secrets.nextChosen(what) }
  }
  context.output.next(
    `${theOwner(user)} has no password; bridge server owner-link prints a link to sign in with`,
  )
  return { token, name: user, password: context.random(32).toString('base64url') }
}

const theOwner = (name: string): string => (name === 'owner' ? 'the owner' : `the owner ${name}`)

/** Parses the names of agents. */
function names(text: string): readonly string[] {
  const found = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (found.length === 0) throw invalid('It must name at least one agent.')
  return [...new Set(found)]
}
