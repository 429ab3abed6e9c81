/** The Bridge of a profile; loaded by the commands that talk to a node. */
import type { BridgeOptions, Fetch, Flushed, OutboxEntry } from '../../sdk/index.ts'
import { profileDirectory } from '../../sdk/profile/profile-files.ts'
import type { Agent } from '../context.ts'
import { failureWords } from '../failures/failure-words.ts'
import type { CurrentCommand } from '../terminal/current-command.ts'
import type { Output } from '../terminal/output.ts'
import { writeJson } from './json-file.ts'
import { clientOf, readAgent } from './stored-agent.ts'

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
  const stored = await readAgent(context.home, context.settings.profile, context.current.words)
  const { profile, paths } = stored
  context.address = profile.base_url
  const [sdk, fetch] = await Promise.all([import('../../sdk/program.ts'), context.fetch(profile.ca)])
  const { server_id, agent } = profile.identity
  const bridge = new sdk.Bridge({
    ...clientOf(stored, sdk),
    directory: profileDirectory(paths, sdk.nobodyKnown, writeJson),
    outbox: new sdk.Outbox({ folder: paths.outbox, owner: { server_id, agent_id: agent.id }, clock, random }),
    fetch,
    clock,
    random,
    sleep: context.sleep,
    onFlushed: (flushed) => context.output.note(flushedText(flushed)),
    onKept,
  })
  return { bridge, profile, paths }
}

/** Describes in one line what happened to an outbox entry. */
export function flushedText({ entry, outcome, error }: Flushed): string {
  if (outcome === 'sent') return `sent from the outbox: ${entry.id}`
  const why = error === undefined ? 'no reason given' : failureWords(error)
  if (outcome === 'delayed') return `the outbox still keeps ${entry.id}: ${why}`
  return `dropped from the outbox, because it was refused: ${entry.id}: ${why}`
}
