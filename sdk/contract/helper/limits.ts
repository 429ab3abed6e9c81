/** Numeric limits of the transfer protocol. Spec §2, §8. */

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** Limits of the manifest, of the helper's connections and of its token. */
export const transferLimits = {
  partBytes: 96 * MiB,
  parts: 1024,
  /** Size of the manifest file itself. */
  manifestBytes: MiB,
  /** Size of the file that the manifest describes. */
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
  /** If a body moves fewer bytes than this in `progressSeconds`, the helper closes its connection. */
  progressBytes: 64 * KiB,
  progressSeconds: 10,
  /** After this many wrong tokens, the helper delays the answer to each further one by `badTokenSeconds`. */
  freeBadTokens: 20,
  badTokenSeconds: 1,
} as const
