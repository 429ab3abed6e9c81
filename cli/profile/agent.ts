/** The Bridge of a profile; loaded by the commands that talk to a node. */
import type { BridgeOptions, Fetch, Flushed, OutboxEntry } from '../../sdk/index.ts'
import { profileDirectory, profileSessions } from '../../sdk/profile/profile-files.ts'
import type { Agent } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { failureWords } from '../failures/failure-words.ts'
import type { CurrentCommand } from '../terminal/current-command.ts'
import type { Output } from '../terminal/output.ts'
import { writeJson } from './json-file.ts'
import { readKeyFile } from './key-file.ts'
import { profilePaths, requireProfile } from './profile.ts'

/** The parts of a command's context that open its profile. create-context.ts makes them. */
export interface AgentSurroundings {
  readonly home: string
  readonly settings: { readonly profile: string }
  readonly current: CurrentCommand
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
  readonly sleep?: BridgeOptions['sleep']
  readonly output: Pick<Output, 'note'>
  fetch(ca?: string): Promise<Fetch>
  /** The address of the node, set here for hints. */
  address: string | undefined
}

export interface AgentEvents {
  /** Called for every entry that the command leaves in the outbox. */
  readonly onKept: (entry: OutboxEntry) => void
}

/** @throws CommandError when there is no identity, or when it is not usable. */
export async function openAgent(context: AgentSurroundings, { onKept }: AgentEvents): Promise<Agent> {
  const { clock, random } = context
  const paths = profilePaths(context.home, context.settings.profile)
  const profile = await requireProfile(paths, context.settings.profile, context.current.words)
  context.address = profile.base_url
  const [pem, sdk, fetch] = await Promise.all([
    readKeyFile(paths.key(profile.identity.credential_id)),
    import('../../sdk/program.ts'),
    context.fetch(profile.ca),
  ])
  const privateKey = importKey(sdk.importPrivateKey, pem)
  const { server_id, agent } = profile.identity
  const bridge = new sdk.Bridge({
    baseUrl: profile.base_url,
    allowPlainHttp: profile.allow_plain_http,
    ca: profile.ca,
    identity: new sdk.Identity(profile.identity, { privateKey, device: profile.device ?? undefined }),
    sessions: profileSessions(paths, sdk.blankSession(profile.instance_id), writeJson),
    directory: profileDirectory(paths, sdk.nobodyKnown, writeJson),
    outbox: new sdk.Outbox({ folder: paths.outbox, owner: { server_id, agent_id: agent.id }, clock, random }),
    client: { name: 'bridge', version: sdk.version },
    fetch,
    clock,
    random,
    sleep: context.sleep,
    onFlushed: (flushed) => context.output.note(flushedText(flushed)),
    onKept,
  })
  return { bridge, profile, paths }
}

function importKey<T>(importPrivateKey: (pem: string) => T, pem: string): T {
  try {
    return importPrivateKey(pem)
  } catch (cause) {
    throw new CommandError('authentication', 'the private key of the profile is damaged', {
      hint: 'ask the owner for a new enrolment',
      cause,
    })
  }
}

/** Describes in one line what happened to an outbox entry. */
export function flushedText({ entry, outcome, error }: Flushed): string {
  if (outcome === 'sent') return `sent from the outbox: ${entry.id}`
  const why = error === undefined ? 'no reason given' : failureWords(error)
  if (outcome === 'delayed') return `the outbox still keeps ${entry.id}: ${why}`
  return `dropped from the outbox, because it was refused: ${entry.id}: ${why}`
}
