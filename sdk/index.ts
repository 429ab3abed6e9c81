/**
 * The public surface of the SDK; every export named by hand. Loads nothing heavy.
 *
 * Contract §13.
 */

export type { Flushed } from './agent/courier.ts'
export {
  type DirectoryStore,
  type KnownPeers,
  type MessageAddress,
  memoryDirectory,
  nobodyKnown,
  replyAddress,
} from './agent/directory.ts'
export { type EnrollOptions, enroll } from './agent/enroll.ts'
export { Identity, type IdentityProof, type IdentityRecord } from './agent/identity.ts'
export { blankSession, memorySessions, type SessionStore, type StoredSession } from './agent/session.ts'
export { uuidFrom } from './agent/uuid.ts'
export { Bridge } from './bridge.ts'
export type { BridgeOptions } from './bridge-options.ts'
export type { Bootstrap } from './contract/agent/bootstrap.ts'
export type { Conversation, MessagePage } from './contract/agent/conversations.ts'
export type { Client, EnrollmentClaimed } from './contract/agent/enrollments.ts'
export { type Guide, type GuideTopic, guideTopics } from './contract/agent/guides.ts'
export {
  type Acknowledged,
  agentMessageTypes,
  type InboxPage,
  type Message,
  type MessageInput,
  type MessageSent,
  type OfferedMessage,
  type Unacknowledged,
} from './contract/agent/messages.ts'
export type { Peer, RecipientKey } from './contract/agent/peers.ts'
export type { Challenge, Session, SessionClosed, SessionPolicy } from './contract/agent/sessions.ts'
export {
  type Evidence,
  type EvidenceKind,
  evidenceKinds,
  type Task,
  type TaskEntry,
  type TaskInput,
  type TaskState,
  type TaskTimeline,
  taskStates,
} from './contract/agent/tasks.ts'
export {
  finalTransferStates,
  type Transfer,
  type TransferInput,
  type TransferList,
  type TransferReceipt,
  type TransferSecret,
  type TransferState,
  type TransferSummary,
  transferStates,
} from './contract/agent/transfers.ts'
export { type ErrorCode, errors } from './contract/errors.ts'
export type { Receipt } from './contract/events.ts'
export { endpointFault } from './contract/helper/endpoint.ts'
export { type HelperErrorCode, helperErrors } from './contract/helper/errors.ts'
export { transferLimits } from './contract/helper/limits.ts'
export {
  isFilename,
  type Manifest,
  type ManifestPart,
  manifestText,
  parseManifest,
  type TransferMode,
} from './contract/helper/manifest.ts'
export { type AttentionKind, attentionLabels, connectionLabels } from './contract/labels.ts'
export { limits } from './contract/limits.ts'
export type { Administrator, AdministratorLink } from './contract/owner/administrators.ts'
export type { Agent, AgentInput, AgentInstructionPreview } from './contract/owner/agents.ts'
export type { AuditList, AuditRecord, EventList } from './contract/owner/audit.ts'
export type {
  Credential,
  CredentialInput,
  CredentialIssued,
  TakeoverInput,
  TakeoverIssued,
} from './contract/owner/credentials.ts'
export type { Enrollment, EnrollmentInput, EnrollmentIssued } from './contract/owner/enrollments.ts'
export type { Environment, EnvironmentInput } from './contract/owner/environments.ts'
export type { OwnerMessageInput } from './contract/owner/messages.ts'
export type { PairingResult } from './contract/owner/pairings.ts'
export type { Project, ProjectInput, ProjectPolicy, ProjectState } from './contract/owner/projects.ts'
export type { OwnerSession } from './contract/owner/sign-in.ts'
export type { AttentionItem, ProjectSnapshot, SnapshotAgent } from './contract/owner/snapshot.ts'
export type { Connection, ConnectionModeSet, ContactSchedule } from './contract/presence.ts'
export type { HostSample, HostSampleInput, HostSampleList, NodeStorage } from './contract/telemetry.ts'
export { type ListenTransport, listenTransports } from './delivery/choice.ts'
export type { ListenOptions, ReceivedMessage, ReceivedPage } from './delivery/received.ts'
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
export { fenced, neutralize, oneLine, plainJson } from './plain-text.ts'
export type { PageOptions } from './resources/call.ts'
export type { OutgoingMessage } from './resources/messages.ts'
export type { AuditFilters, AuditOptions, EventOptions } from './resources/owner/audit.ts'
export type { FollowOptions } from './resources/owner/following.ts'

export type { OutgoingTransfer } from './resources/transfers.ts'
export {
  type AgeKey,
  ageKeyOf,
  identityFileOf,
  newAgeKey,
  openSealedFile,
  openSealedText,
  sealFile,
  sealText,
} from './sealing.ts'
export { type Device, encodeDevice } from './signing/device.ts'
export {
  exportPrivateKey,
  fingerprint,
  generateKeyPair,
  importPrivateKey,
  type KeyPair,
  publicKeyOf,
} from './signing/keys.ts'
export { makePrivateFolder, writeDurably } from './storage/durable-file.ts'
export { findRecorded, Journal, type JournalOptions } from './storage/journal.ts'
export {
  type EntryState,
  type ListedEntry,
  type MessageDraft,
  Outbox,
  type OutboxEntry,
  type OutboxOptions,
} from './storage/outbox.ts'
export { type OpenProfileOptions, openProfile } from './storage/profile.ts'
export type { MoveOptions } from './transfers/both-sides.ts'
export type { ServeOptions, ServingHelper } from './transfers/direct.ts'
export type { ReceivedFile, ReceiveFileOptions } from './transfers/receive.ts'
export type { ResumeOptions, SealOptions, SendFileOptions, Serve } from './transfers/send.ts'
export type { AtWork } from './transfers/tidy.ts'
export { type Downloaded, downloadFile } from './transfers/wire/download.ts'
export {
  type EndpointRequest,
  type FileEndpoint,
  type HelperEndpoint,
  helperEndpoint,
} from './transfers/wire/endpoint.ts'
export { type DescribeOptions, describeFile, manifestDigest } from './transfers/wire/manifest.ts'
export type { TransferOptions, TransferPhase, TransferProgress } from './transfers/wire/part-runner.ts'
export { type ProbeOptions, probeHelper } from './transfers/wire/probe.ts'
export { uploadFile } from './transfers/wire/upload.ts'
export { isLoopback, parseBaseUrl } from './transport/address.ts'
export {
  BridgeError,
  HelperError,
  isOutcomeUnknown,
  LocalError,
  type LocalErrorCode,
  localErrors,
  type RefusalCode,
} from './transport/failures.ts'
export { type Fetch, type FetchInit, type FetchResponse, pooledFetch } from './transport/fetch.ts'
export {
  type CallInput,
  type CallOptions,
  freshKey,
  type KeyedOptions,
} from './transport/http.ts'
export { isTemporary } from './transport/temporary.ts'
export { version } from './version.ts'
export {
  type AnswerOptions,
  type AskOptions,
  type HoldAnswer,
  isAnswerTo,
  NoAnswer,
  type Question,
} from './waiting/questions.ts'
export { type EndedTask, TaskUnfinished, type TaskWaitOptions } from './waiting/task-ends.ts'
export type { HeldTask, TaskListOptions } from './work/calls.ts'
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
