/**
 * Numeric limits of the protocol. Names ending in `Bytes` count bytes (of UTF-8 for text); durations carry
 * their unit.
 *
 * Spec §8; contract §1 to §8.
 */
export const limits = {
  jsonBodyBytes: 256 * 1024,
  jsonDepth: 32,
  messageBodyBytes: 64 * 1024,
  descriptionBytes: 8 * 1024,
  promptBytes: 32 * 1024,
  nameChars: 80,
  deviceChars: 300,

  pageMax: 100,
  pageDefault: 50,
  ownerPage: 100,
  /** Size of a page's items as JSON. A page always holds at least one item. */
  pageBytes: 1024 * 1024,
  activityRecords: 100,
  snapshotAgents: 500,
  snapshotCount: 10_000,
  snapshotStaleSeconds: 30,
  attentionPerKind: 20,
  attentionDays: 7,
  sequenceMax: 9_007_199_254_740_991,

  inboxWaitSeconds: 20,
  /** Time without progress after which the node closes the connection of a slow reader. */
  answerStallSeconds: 20,
  /** Unread bytes of answers on one connection. If there are more, the node closes the connection. */
  unsentBytes: 1024 * 1024,
  /** Requests that one connection may send ahead of their answers. */
  pipelinedRequests: 100,
  /** Rate of requests without credentials from one address, with bursts of `publicBurst`. */
  publicPerSecond: 50,
  publicBurst: 200,
  streamSeconds: 20,
  heartbeatSeconds: 10,
  streamRetryMs: 250,
  streamBufferBytes: 1024 * 1024,
  socketAuthSeconds: 5,
  socketFrameBytes: 64 * 1024,
  /** Unauthenticated sockets, on the node and from one address. */
  strangerSockets: 512,
  strangerSocketsPerAddress: 32,
  recheckSeconds: 2,
  redeliverySeconds: 60,
  /** In a page of this many messages, one place is reserved for a redelivery that is due. */
  redeliveryShare: 10,
  waitsPerSession: 2,
  /** Part of `waitsPerSession` that lists with `wait_seconds` may use. The rest stays free for a listener. */
  listsPerSession: 1,
  waitsPerNode: 10_000,
  inboxUnacknowledged: 10_000,
  acknowledgeIds: 100,

  connectedSeconds: 60,
  listeningGraceSeconds: 5,
  sessionAliveSeconds: 90,
  sessionAliveCheckpointSeconds: 3600,
  sessionAliveScheduleMargin: 30,
  scheduleSeconds: { min: 5, max: 86_400 },
  overdueSeconds: 30,
  challengeSeconds: 60,
  takeoverTtlSeconds: { min: 60, max: 3600, default: 600 },
  sessionReplacements: 3,
  sessionReplacementWindowSeconds: 600,

  proofBackSeconds: 300,
  proofAheadSeconds: 30,
  noncesPerCredential: 20_000,

  enrollmentTtlSeconds: { min: 60, max: 86_400, default: 3600 },
  enrollmentKeptDays: 30,
  idempotencyDays: 7,
  ratePerSecond: 50,
  rateBurst: 100,
  failedAuthPerMinute: 10,

  taskTitleChars: 200,
  taskInstructionsBytes: 64 * 1024,
  taskResultBytes: 64 * 1024,
  /** Part of a result that the message about a completed task repeats. */
  taskResultInMessageBytes: 16 * 1024,
  taskReasonBytes: 2 * 1024,
  taskNoteBytes: 4 * 1024,
  evidenceItems: 32,
  evidenceBytes: 4 * 1024,
  claimTtlSeconds: { min: 30, max: 3600, default: 1800 },
  /** Lifetime of the claims of a worker, which renews them. Short, so that another worker soon replaces a dead one. */
  workerClaimTtlSeconds: 300,
  taskAttempts: { min: 1, max: 20, default: 3 },

  messageBudget: 60,
  messageBudgetWindowSeconds: 600,
  hops: 50,

  transferTtlSeconds: { min: 60, max: 604_800, default: 86_400 },
  transferReasonBytes: 2 * 1024,
  /** Transfers of one conversation that have not ended. */
  openTransfers: 1000,
  packageBytes: 1024 ** 3,
  packagesBytes: 10 * 1024 ** 3,
  packageSpareBytes: 256 * 1024 ** 2,
  /** Reserve file that the node deletes when the disk is full. */
  reserveBytes: 64 * 1024 ** 2,

  password: { min: 12, max: 128 },
  setupLinkSeconds: 1800,
  ownerLinkSeconds: 300,
  administratorLinkTtlSeconds: { min: 60, max: 86_400, default: 3600 },
  ownerIdleSeconds: 3600,
  ownerSessionSeconds: 43_200,
  ownerFreshSeconds: 600,
  ownerSessionsPerUser: 10,
  ownerWaitsPerSession: 10,

  /** Seconds between two audit records of refusals of one actor with one code. */
  refusalRecordSeconds: 3600,
  telemetryHosts: 1000,
  /** Samples that the history of a host has at most: one a minute for 24 hours. */
  telemetryHistoryMinutes: 1440,
  telemetryHostDays: 30,
  telemetryStaleSeconds: 90,

  retentionDays: 90,
  auditDays: 365,
} as const
