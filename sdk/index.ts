/**
 * Public API of the SDK, with every export listed by name. Importing it loads no large dependency.
 *
 * A name here is a stable promise to users. program.ts has the names that only our own programs use.
 *
 * Contract §13.
 */

export type { Flushed } from './agent/agent-calls.ts'
export type { DirectoryStore, MessageAddress } from './agent/directory.ts'
export { type EnrollOptions, enroll } from './agent/enroll.ts'
export { Identity, type IdentityProof, type IdentityRecord } from './agent/identity.ts'
export type { SessionStore } from './agent/session.ts'
export { Bridge } from './bridge.ts'
export type { BridgeOptions } from './bridge-options.ts'
export type { Bootstrap } from './contract/agent/bootstrap.ts'
export type { Conversation, MessagePage } from './contract/agent/conversations.ts'
export type { Client, EnrollmentClaimed } from './contract/agent/enrollments.ts'
export type { Receipt } from './contract/agent/events.ts'
export type { Guide, GuideTopic } from './contract/agent/guides.ts'
export type {
  Acknowledged,
  InboxPage,
  Message,
  MessageInput,
  MessageSent,
  OfferedMessage,
  Unacknowledged,
} from './contract/agent/messages.ts'
export type { Peer, RecipientKey } from './contract/agent/peers.ts'
export type { Challenge, Session, SessionClosed, SessionPolicy } from './contract/agent/sessions.ts'
export type {
  Evidence,
  Task,
  TaskEntry,
  TaskInput,
  TaskState,
  TaskTimeline,
} from './contract/agent/tasks.ts'
export type {
  Transfer,
  TransferInput,
  TransferList,
  TransferReceipt,
  TransferSecret,
  TransferState,
  TransferSummary,
} from './contract/agent/transfers.ts'
export type { AuditKind } from './contract/audit-kinds.ts'
export { type ErrorCode, errors } from './contract/errors.ts'
export type { HelperErrorCode } from './contract/helper/errors.ts'
export type { AttentionKind } from './contract/labels.ts'
export { limits } from './contract/limits.ts'
export type { Administrator, AdministratorLink } from './contract/owner/administrators.ts'
export type {
  Agent,
  AgentInput,
  AgentInstructionPreview,
  AgentProfileInput,
} from './contract/owner/agents.ts'
export type { AuditList, AuditRecord, EventList } from './contract/owner/audit.ts'
export type {
  Credential,
  CredentialInput,
  CredentialIssued,
  TakeoverInput,
  TakeoverIssued,
} from './contract/owner/credentials.ts'
export type { Enrollment, EnrollmentInput, EnrollmentIssued } from './contract/owner/enrollments.ts'
export type { Environment, EnvironmentInput, EnvironmentProfileInput } from './contract/owner/environments.ts'
export type { OwnerInbox, OwnerInboxMessage, OwnerMessageInput } from './contract/owner/messages.ts'
export type { PairingResult } from './contract/owner/pairings.ts'
export type {
  Project,
  ProjectInput,
  ProjectPolicy,
  ProjectProfileInput,
  ProjectState,
} from './contract/owner/projects.ts'
export type { OwnerSession } from './contract/owner/sign-in.ts'
export type { AttentionItem, ProjectSnapshot, SnapshotAgent } from './contract/owner/snapshot.ts'
export type { Connection, ConnectionModeSet, ContactSchedule } from './contract/presence.ts'
export type {
  EndedNode,
  HostHistory,
  HostMinute,
  HostSample,
  HostSampleInput,
  HostSampleList,
  NodeInfo,
  NodeStorage,
} from './contract/telemetry.ts'
export type { ListenOptions, ReceivedMessage, ReceivedPage } from './delivery/received.ts'
export type { ListenTransport } from './delivery/transport-choice.ts'
export {
  type NodeOptions,
  type NodeStatus,
  nodeStatus,
  type ReportOptions,
  reportHost,
} from './node-status.ts'
export {
  type KeptSignIn,
  Owner,
  type OwnerOptions,
  type OwnerResumeOptions,
  type SetupWith,
  type SignInOptions,
  type SignInWith,
} from './owner/owner.ts'
export { fenced, neutralize } from './plain-text.ts'
export { type OpenProfileOptions, openProfile } from './profile/profile.ts'
export type { PageOptions } from './resources/call.ts'
export type { OutgoingMessage } from './resources/messages.ts'
export type { AuditFilters, AuditOptions, EventOptions } from './resources/owner/audit.ts'
export type { FollowOptions } from './resources/owner/following.ts'
export type { OutgoingTransfer } from './resources/transfers.ts'
export { type AgeKey, newAgeKey, openSealedText, sealText } from './sealing.ts'
export {
  exportPrivateKey,
  fingerprint,
  generateKeyPair,
  importPrivateKey,
  type KeyPair,
} from './signing/keys.ts'
export { type MessageDraft, Outbox, type OutboxEntry, type OutboxOptions } from './storage/outbox.ts'
export type { MoveOptions } from './transfers/both-sides.ts'
export type { ServeOptions, ServingHelper } from './transfers/direct.ts'
export type { ReceivedFile, ReceiveFileOptions } from './transfers/receive.ts'
export type { ResumeOptions, SealOptions, SendFileOptions, Serve } from './transfers/send.ts'
export type { TransferPhase, TransferProgress } from './transfers/wire/part-runner.ts'
export {
  BridgeError,
  HelperError,
  isOutcomeUnknown,
  LocalError,
  type LocalErrorCode,
  type RefusalCode,
} from './transport/failures.ts'
export type { Fetch, FetchInit, FetchResponse } from './transport/fetch.ts'
export type { CallInput, CallOptions, KeyedOptions } from './transport/http.ts'
export {
  type AnswerOptions,
  type AskOptions,
  type HoldAnswer,
  NoAnswer,
  type Question,
} from './waiting/questions.ts'
export type { ClaimOptions, HeldTask, TaskListOptions } from './work/calls.ts'
export { type EndedTask, TaskUnfinished, type TaskWaitOptions } from './work/task-ends.ts'
export {
  type ClaimedTask,
  type StopReason,
  TaskFailedError,
  type TaskHandler,
  type TaskResult,
  type WorkEvent,
  type Worked,
  type WorkOptions,
  WorkStoppedError,
} from './work/work.ts'
