/** Every number of the transfer protocol, named once. Spec §2, §8. */

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** The limits of the transfer protocol, of the manifest first of all. */
export const transferLimits = {
  partBytes: 96 * MiB,
  parts: 1024,
  /** Of the manifest file itself. */
  manifestBytes: MiB,
  /** Of the file that the manifest describes. */
  fileBytes: { default: GiB, max: 10 * GiB },
  transferIdChars: 128,
  filenameChars: 127,
  ttlSeconds: { default: 1800, max: 1800 },
  tokenChars: { min: 43, max: 128 },
  connections: 4,
  headers: 32,
  headerBytes: 8 * KiB,
  headerSeconds: 5,
  idleSeconds: 5,
  /** A body that moves less than this in `progressSeconds` is cut. */
  progressBytes: 64 * KiB,
  progressSeconds: 10,
  /** After this many wrong tokens each further one waits a second for its answer. */
  freeBadTokens: 20,
  badTokenSeconds: 1,
} as const
