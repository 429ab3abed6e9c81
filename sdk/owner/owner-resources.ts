/** Resources of an owner's session, the same for a program and for a page in a browser. Contract §10. */
import type { Call } from '../resources/call.ts'
import { OwnerAdministrators } from '../resources/owner/administrators.ts'
import { OwnerAgents } from '../resources/owner/agents.ts'
import { OwnerAudit } from '../resources/owner/audit.ts'
import { OwnerConversations } from '../resources/owner/conversations.ts'
import { OwnerCredentials } from '../resources/owner/credentials.ts'
import { OwnerEnrollments } from '../resources/owner/enrollments.ts'
import { OwnerEnvironments } from '../resources/owner/environments.ts'
import { OwnerInboxes } from '../resources/owner/inbox.ts'
import { OwnerMessages } from '../resources/owner/messages.ts'
import { OwnerPairings } from '../resources/owner/pairings.ts'
import { OwnerProjects } from '../resources/owner/projects.ts'
import { OwnerRecipientKeys } from '../resources/owner/recipient-keys.ts'
import { OwnerSignIn } from '../resources/owner/sign-in.ts'
import { OwnerTakeovers } from '../resources/owner/takeovers.ts'
import { OwnerTasks } from '../resources/owner/tasks.ts'
import { OwnerTelemetry } from '../resources/owner/telemetry.ts'
import { OwnerTransfers } from '../resources/owner/transfers.ts'

export class OwnerResources {
  readonly signIn: OwnerSignIn
  readonly administrators: OwnerAdministrators
  readonly projects: OwnerProjects
  readonly environments: OwnerEnvironments
  readonly agents: OwnerAgents
  readonly pairings: OwnerPairings
  readonly enrollments: OwnerEnrollments
  readonly credentials: OwnerCredentials
  readonly takeovers: OwnerTakeovers
  readonly recipientKeys: OwnerRecipientKeys
  readonly messages: OwnerMessages
  readonly inbox: OwnerInboxes
  readonly conversations: OwnerConversations
  readonly audit: OwnerAudit
  readonly telemetry: OwnerTelemetry
  readonly tasks: OwnerTasks
  readonly transfers: OwnerTransfers

  constructor(call: Call) {
    this.signIn = new OwnerSignIn(call)
    this.administrators = new OwnerAdministrators(call)
    this.projects = new OwnerProjects(call)
    this.environments = new OwnerEnvironments(call)
    this.agents = new OwnerAgents(call)
    this.pairings = new OwnerPairings(call)
    this.enrollments = new OwnerEnrollments(call)
    this.credentials = new OwnerCredentials(call)
    this.takeovers = new OwnerTakeovers(call)
    this.recipientKeys = new OwnerRecipientKeys(call)
    this.messages = new OwnerMessages(call)
    this.inbox = new OwnerInboxes(call)
    this.conversations = new OwnerConversations(call)
    this.audit = new OwnerAudit(call)
    this.telemetry = new OwnerTelemetry(call)
    this.tasks = new OwnerTasks(call)
    this.transfers = new OwnerTransfers(call)
  }
}
