/**
 * The SDK for our own programs: the public index, and names that only the command line and tests use.
 *
 * The package does not export this file, so a name here may change with any release.
 */

export { type KnownPeers, memoryDirectory, nobodyKnown, replyAddress } from './agent/directory.ts'
export { blankSession, memorySessions, type StoredSession } from './agent/session.ts'
export { uuidFrom } from './agent/uuid.ts'
export { type AuditFormat, auditParts, type ReadPage } from './audit-export.ts'
export { guideTopics } from './contract/agent/guides.ts'
export { agentMessageTypes } from './contract/agent/messages.ts'
export { evidenceKinds, taskStates } from './contract/agent/tasks.ts'
export { finalTransferStates, transferStates } from './contract/agent/transfers.ts'
export { auditKinds } from './contract/audit-kinds.ts'
export { guideTexts, guideVersion } from './contract/guide-texts.ts'
export { endpointFault } from './contract/helper/endpoint.ts'
export { helperErrors } from './contract/helper/errors.ts'
export { transferLimits } from './contract/helper/limits.ts'
export {
  filenameRule,
  isFilename,
  type Manifest,
  type ManifestPart,
  manifestText,
  parseManifest,
  type TransferMode,
} from './contract/helper/manifest.ts'
export { attentionLabels, connectionLabels } from './contract/labels.ts'
export { listenTransports } from './delivery/transport-choice.ts'
export * from './index.ts'
export { oneLine, plainJson } from './plain-text.ts'
export { everyItem } from './resources/call.ts'
export { ageKeyOf, identityFileOf, openSealedFile, sealFile } from './sealing.ts'
export { type Device, encodeDevice } from './signing/device.ts'
export { publicKeyOf } from './signing/keys.ts'
export { makePrivateFolder, writeDurably } from './storage/durable-file.ts'
export { findRecorded, Journal, type JournalOptions } from './storage/journal.ts'
export type { EntryState, ListedEntry } from './storage/outbox.ts'
export type { AtWork } from './transfers/tidy.ts'
export type { ProbeOptions } from './transfers/wire/probe.ts'
export { isLoopback, parseBaseUrl } from './transport/address.ts'
export { trusting } from './transport/authorities.ts'
export { isRefused, localErrors } from './transport/failures.ts'
export { pooledFetch } from './transport/fetch.ts'
export { freshKey } from './transport/http.ts'
export { isTemporary } from './transport/temporary.ts'
export { version } from './version.ts'
export { isAnswerTo } from './waiting/questions.ts'

/** Functions for the content of files. Only the commands that need them load the modules. */
export const loadManifests = () => import('./transfers/wire/manifest.ts')
export const loadProbe = () => import('./transfers/wire/probe.ts')
