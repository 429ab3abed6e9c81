/**
 * The contract: every endpoint, grouped by noun, and every named schema. Server, SDK and API description are
 * built from it.
 *
 * Glossary. Each word has one meaning everywhere: on the wire, in the database, in code and on the screen.
 *
 * - acknowledge: the recipient reports that it recorded a message durably. Reading never acknowledges.
 * - administrator: a person to whom the owner gives access to some projects.
 * - agent: an identity in one project. It holds credentials and at most one active session.
 * - binding: how a credential authenticates. `key` signs, `device` signs and names its machine, `legacy`
 *   sends a secret.
 * - claim: an agent's exclusive hold on a task. It expires unless renewed. Each new claim has a generation
 *   one higher.
 * - connected, listening now: contact that the node observed. Neither proves that a model has read anything.
 * - conversation: an ordered list of messages between two agents, or between an agent and the owner.
 * - enrolment: a single-use code with which an agent registers its public key as its credential.
 * - evidence: support for a task's result, such as a commit, a file's hash, or a command and its exit code.
 * - fence: end a session permanently, so that the node refuses all further requests of it.
 * - generation: a counter that rises by one with each new session of an agent. A smaller number is stale.
 * - inbox: the stored messages for an agent that are not acknowledged.
 * - offer (of a message): the node wrote the message to the recipient's connection.
 * - owner: the person who runs the node. `/api/admin` is the owner's API.
 * - package: the bytes of a transfer while the node stores them.
 * - pairing: permission for two agents of a project to communicate.
 * - receipt (of a transfer): the recipient confirms size and hash of the received file, which completes the
 *   transfer.
 * - stored: durable on the node's disk. A 200 to a send means this and no more.
 * - task: one piece of work that an agent or the owner gives to one agent.
 * - transfer: a file that one agent offers to another, through the node or directly.
 */
import { bootstrap } from './agent/bootstrap.ts'
import { conversations } from './agent/conversations.ts'
import { enrollments } from './agent/enrollments.ts'
import { guides } from './agent/guides.ts'
import { acknowledgements, inbox, messages } from './agent/messages.ts'
import { packages } from './agent/packages.ts'
import { peers } from './agent/peers.ts'
import { recipientKeys } from './agent/recipient-keys.ts'
import { sessions } from './agent/sessions.ts'
import { streams } from './agent/streams.ts'
import { tasks } from './agent/tasks.ts'
import { transfers } from './agent/transfers.ts'
import { client } from './client.ts'
import type { EndpointSpec } from './endpoint.ts'
import { health } from './health.ts'
import { administrators } from './owner/administrators.ts'
import { agents, recipientKeys as ownerRecipientKeys } from './owner/agents.ts'
import { audit } from './owner/audit.ts'
import { credentials, takeovers } from './owner/credentials.ts'
import { enrollments as ownerEnrollments } from './owner/enrollments.ts'
import { environments } from './owner/environments.ts'
import {
  conversations as ownerConversations,
  inbox as ownerInbox,
  messages as ownerMessages,
} from './owner/messages.ts'
import { pairings } from './owner/pairings.ts'
import { projects } from './owner/projects.ts'
import { signIn } from './owner/sign-in.ts'
import { snapshots } from './owner/snapshot.ts'
import { tasks as ownerTasks } from './owner/tasks.ts'
import { transfers as ownerTransfers } from './owner/transfers.ts'
import { connectionMode } from './presence.ts'
import { ownerTelemetry, telemetry } from './telemetry.ts'

export const contract = {
  health,
  client,
  enrollments,
  bootstrap,
  guides,
  sessions,
  connectionMode,
  recipientKeys,
  peers,
  conversations,
  messages,
  inbox,
  acknowledgements,
  streams,
  tasks,
  telemetry,
  transfers,
  packages,
  owner: {
    signIn,
    administrators,
    projects,
    environments,
    agents,
    pairings,
    enrollments: ownerEnrollments,
    credentials,
    takeovers,
    recipientKeys: ownerRecipientKeys,
    messages: ownerMessages,
    inbox: ownerInbox,
    conversations: ownerConversations,
    transfers: ownerTransfers,
    audit,
    tasks: ownerTasks,
    snapshots,
    telemetry: ownerTelemetry,
  },
} as const

type EntryOf<T> = T extends EndpointSpec ? T : { [K in keyof T]: EntryOf<T[K]> }[keyof T]

/** Union of all endpoints. */
export type ContractEntry = EntryOf<typeof contract>
/** Union of all endpoint ids. A `Record<EndpointId, …>` does not compile if one is missing. */
export type EndpointId = ContractEntry['id']

const isEntry = (value: object): value is EndpointSpec => 'method' in value && 'path' in value

const entriesOf = (node: object): EndpointSpec[] =>
  isEntry(node) ? [node] : Object.values(node).flatMap((child) => entriesOf(child as object))

/** Every endpoint, in the order of the contract. */
export const endpoints: readonly EndpointSpec[] = entriesOf(contract)
