/** Table of the limits of the contract, each with its meaning. */
import { limits } from '../../sdk/contract/limits.ts'
import { capital, grid } from './markdown.ts'

const limitWords: Record<keyof typeof limits, string> = {
  jsonBodyBytes: 'bytes of a request body',
  jsonDepth: 'levels of nesting in a body',
  messageBodyBytes: 'bytes of a message body',
  descriptionBytes: 'bytes of a description',
  promptBytes: 'bytes of a prompt template',
  nameChars: 'characters of a name',
  deviceChars: 'characters of `X-Bridge-Device`',
  pageMax: 'items of a page',
  pageDefault: 'items of a page where `limit` is absent',
  ownerPage: "messages of a page of the owner's history",
  activityRecords: "activity records of the owner's snapshot",
  snapshotAgents: "agents of the owner's snapshot",
  snapshotCount: 'largest count of the snapshot',
  snapshotStaleSeconds: 'seconds after which a snapshot is shown as Unavailable',
  attentionPerKind: 'items of one kind on the attention list',
  attentionDays: 'days that what happened stays on the attention list',
  sequenceMax: 'largest sequence number',
  inboxWaitSeconds: 'seconds of a wait',
  pageBytes: 'bytes of the items of a page as they travel, where one item always fits',
  answerStallSeconds: 'seconds in which an answer may make no progress before its connection is cut',
  unsentBytes: 'bytes of answers that a connection may leave unread before it is closed',
  pipelinedRequests: 'requests of one connection that may wait for their answers',
  streamSeconds: 'seconds until the event stream ends and the client reconnects',
  heartbeatSeconds: 'seconds between heartbeats of a stream or socket',
  streamRetryMs: 'milliseconds after which a client of the event stream reconnects',
  streamBufferBytes: 'bytes that a stream may hold unsent before it is cut',
  socketAuthSeconds: 'seconds in which the first frame of a socket has to authenticate',
  socketFrameBytes: 'bytes of a frame that a client may send',
  strangerSockets: 'sockets of the node that have not authenticated',
  strangerSocketsPerAddress: 'sockets of one address that have not authenticated',
  recheckSeconds: 'seconds between rechecks of the right to listen',
  redeliverySeconds: 'seconds until a message is offered again in the same session',
  redeliveryShare: 'places, one of which is kept for a redelivery that is due',
  waitsPerSession: 'open waits of one session',
  listsPerSession: 'open waits of one session for the list of the inbox',
  waitsPerNode: 'open waits of the node (setting `max_waits`)',
  inboxUnacknowledged: 'unacknowledged messages in one inbox',
  acknowledgeIds: 'ids of one acknowledgement',
  connectedSeconds: 'seconds after a contact in which an agent counts as connected',
  listeningGraceSeconds: 'seconds after a wait in which an agent counts as listening',
  sessionAliveSeconds: 'seconds after a contact in which a session counts as alive',
  sessionAliveCheckpointSeconds:
    'seconds after a contact in which a session that declared checkpoints counts as alive',
  sessionAliveScheduleMargin: 'seconds beyond two intervals, for a session that declared a schedule',
  scheduleSeconds: 'seconds of the interval of a schedule',
  overdueSeconds:
    'seconds past a scheduled contact after which it is overdue, or a tenth of the interval if that is more',
  challengeSeconds: 'seconds of life of a session challenge',
  takeoverTtlSeconds: 'seconds of life of a takeover grant',
  sessionReplacements: 'replacements of a session in a window',
  sessionReplacementWindowSeconds: 'seconds of the window for replacements of a session',
  proofBackSeconds: 'seconds that a proof may be old',
  proofAheadSeconds: 'seconds that a proof may be ahead',
  noncesPerCredential: 'nonces of one credential that are remembered at once',
  enrollmentTtlSeconds: 'seconds of life of an enrolment code',
  enrollmentKeptDays: 'days that an enrolment is kept after its code has expired',
  idempotencyDays: 'days that an Idempotency-Key is remembered at least',
  ratePerSecond: 'requests a second of one agent (setting `rate_per_second`)',
  rateBurst: 'requests of one agent at once (setting `rate_burst`)',
  publicPerSecond: 'requests a second and address without credentials (setting `public_per_second`)',
  publicBurst: 'requests without credentials that an address may send at once (setting `public_burst`)',
  failedAuthPerMinute: 'failed authentications a minute and address (setting `failed_auth_per_minute`)',
  taskTitleChars: 'characters of the title of a task, or of the label of evidence',
  taskInstructionsBytes: 'bytes of the instructions of a task',
  taskResultBytes: 'bytes of the result of a task',
  taskResultInMessageBytes: 'bytes of a result that the message about a completed task repeats',
  taskReasonBytes: 'bytes of a reason to fail, release, decline or cancel a task',
  taskNoteBytes: 'bytes of a note of progress',
  evidenceItems: 'items of evidence of one task',
  evidenceBytes: 'bytes of the value of an item of evidence',
  claimTtlSeconds: 'seconds of life of a claim, unless it is renewed',
  workerClaimTtlSeconds: 'seconds of life of a claim of `task run`, which renews it',
  taskAttempts: 'claims of one task, before it fails',
  messageBudget:
    'messages of one sender in one peer conversation in a window (project policy `message_budget`)',
  messageBudgetWindowSeconds: 'seconds of the window for the messages of one sender',
  hops: 'hops of a thread between agents',
  password: 'characters of a password',
  setupLinkSeconds: 'seconds of life of a set-up link',
  ownerLinkSeconds: 'seconds of life of a sign-in link',
  administratorLinkTtlSeconds: 'seconds of life of the sign-in link of an administrator',
  ownerIdleSeconds: 'seconds without use after which a sign-in ends',
  ownerSessionSeconds: 'seconds after which a sign-in ends in any case',
  ownerFreshSeconds: 'seconds in which a sign-in or confirmation is fresh',
  transferTtlSeconds: 'seconds until a transfer that nobody finished expires',
  transferReasonBytes: 'bytes of the reason for an end of a transfer',
  openTransfers: 'transfers of one conversation that have not ended',
  packageBytes: 'bytes of one package, unless set otherwise',
  packagesBytes: 'bytes of all packages of a node, unless set otherwise',
  packageSpareBytes: 'bytes that uploads leave free on the disk of the packages, unless set otherwise',
  reserveBytes: 'bytes of the reserve that is given up when the disk is full (setting `reserve_bytes`)',
  ownerSessionsPerUser: 'sign-ins of one person at once',
  ownerWaitsPerSession: 'open waits of one sign-in',
  refusalRecordSeconds: 'seconds between two records of refusals of one actor with one code',
  telemetryHosts: 'hosts that report their load',
  telemetryHistoryMinutes: 'minutes of load that the node keeps for each host',
  telemetryHostDays: 'days after which a host that is silent is forgotten',
  telemetryStaleSeconds: 'seconds after which a sample of a host is stale',
  retentionDays: 'days that an acknowledged message is kept',
  auditDays: 'days that an audit record is kept',
}

/** Limits that the server does not apply. A test of the pages compares this list with the code. */
export const notYet: ReadonlySet<string> = new Set<string>([])

export const limitsTable = (): string =>
  grid(
    ['limit', 'value'],
    Object.entries(limits)
      .filter(([name]) => !notYet.has(name))
      .map(([name, value]) => [capital(limitWords[name as keyof typeof limits]), limitText(value)]),
  )

function limitText(value: number | { min: number; max: number; default?: number }): string {
  if (typeof value === 'number') return String(value)
  const fallback = value.default === undefined ? '' : `, ${value.default} by default`
  return `${value.min} to ${value.max}${fallback}`
}
