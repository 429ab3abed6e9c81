/**
 * Error catalogue of the helper: HTTP status and meaning of each code. The body of an error is exactly
 * `{ "error": code }`.
 *
 * - A code never changes its meaning.
 * - The part store refuses with the same codes. {@link translations} gives the errors of the node and the SDK
 *   for each.
 * - If a start fails, the helper prints a code of `startErrors` on standard error in the same form. Those
 *   codes appear in no response.
 *
 * Spec §4.5, §7.
 */

export interface HelperErrorEntry {
  readonly status: number
  readonly meaning: string
}

/** The error catalogue of the helper: the HTTP status and meaning of each code. */
export const helperErrors = {
  bad_request: { status: 400, meaning: 'The request is not well-formed HTTP/1.1.' },
  bad_target: {
    status: 400,
    meaning: 'The target must be a plain path: no encoding, query, host or dot segments.',
  },
  browser_request: {
    status: 400,
    meaning: 'The request seems to come from a browser: it has Origin, Sec-Fetch-* or Cookie.',
  },
  duplicate_header: { status: 400, meaning: 'A header appears more than once that may appear only once.' },
  encoding_refused: {
    status: 400,
    meaning: 'The request has Transfer-Encoding, or a Content-Encoding other than identity.',
  },
  range_refused: { status: 400, meaning: 'Range headers are not supported. Download single parts instead.' },
  upgrade_refused: { status: 400, meaning: 'Protocol upgrades are not supported.' },
  body_refused: { status: 400, meaning: 'This request takes no body.' },
  invalid_token: { status: 401, meaning: 'The bearer token is missing, malformed or wrong.' },
  not_found: { status: 404, meaning: 'The route does not exist, or no part has this index.' },
  method_not_allowed: {
    status: 405,
    meaning: 'The path does not support this method. The Allow header lists those it supports.',
  },
  too_slow: {
    status: 408,
    meaning: 'Headers took longer than 5 s, or a body moved less than 64 KiB in 10 s.',
  },
  transfer_busy: {
    status: 409,
    meaning: 'Another file operation is running. Retry before the offer expires.',
  },
  wrong_mode: { status: 409, meaning: 'The route exists only in the other mode (download or upload).' },
  part_conflict: {
    status: 409,
    meaning: 'The part was already committed with different bytes, which the helper keeps.',
  },
  parts_missing: {
    status: 409,
    meaning: 'Some parts are not committed. The status lists the committed ones.',
  },
  destination_exists: { status: 409, meaning: 'Another file has this name. The helper never overwrites it.' },
  file_changed: { status: 409, meaning: 'The file has changed since it was verified.' },
  unsafe_file: {
    status: 409,
    meaning: "A link, a special file or another user's file is in the place of one of the transfer's files.",
  },
  expired: { status: 410, meaning: 'The lifetime of the helper has ended.' },
  length_required: { status: 411, meaning: 'An upload needs a Content-Length.' },
  part_too_large: { status: 413, meaning: 'The part is longer than 96 MiB.' },
  insufficient_space: { status: 413, meaning: 'The disk has not enough free space for the file.' },
  expectation_refused: { status: 417, meaning: 'The Expect header may hold only 100-continue.' },
  length_mismatch: { status: 422, meaning: "The length differs from the part's length in the manifest." },
  hash_mismatch: { status: 422, meaning: "The hash differs from the part's hash in the manifest." },
  headers_too_large: {
    status: 431,
    meaning: 'The request has more than 32 headers, or more than 8 KiB of headers.',
  },
  internal: { status: 500, meaning: 'The helper failed because of a bug.' },
  storage_failed: {
    status: 503,
    meaning: 'The disk failed. The helper keeps only what it answered with success.',
  },
} as const satisfies Record<string, HelperErrorEntry>
/** Error code that the helper answers. */
export type HelperErrorCode = keyof typeof helperErrors

/** A refusal of the node, by a code of sdk/contract/errors.ts. */
export interface NodeRefusal {
  readonly code: 'part_mismatch' | 'state_conflict' | 'not_found' | 'transfer_busy'
  readonly message: string
  readonly retryAfter?: UsualDelay
  readonly details?: { readonly missing: 'parts' }
}

/** {@link NodeRefusal} whose code always comes with a delay. */
export interface WaitingRefusal<Code extends string> {
  readonly code: Code
  readonly message: string
  readonly retryAfter: UsualDelay
}

/** A delay of server/retry-after.ts. */
type UsualDelay = 'ownWait' | 'immediately' | 'disk'

/** One code of the part store, as the node and the SDK report it. */
export interface Translation {
  /**
   * Refusal of the node. Null means that the store failed: the node answers `unavailable` and logs the error.
   */
  readonly node: NodeRefusal | WaitingRefusal<'unavailable'> | WaitingRefusal<'storage_full'> | null
  /** Code of the LocalError when a download fails with it. */
  readonly client: 'integrity' | 'destination_exists' | 'storage_failed'
}

/** The disk failed, or another file is in the way. The bytes are not the cause. */
const storeFailed: Translation = { node: null, client: 'storage_failed' }
/** Codes of the helper's HTTP server. The node and a download never get them. */
const onlyAtHelper = storeFailed

const otherBytes = (message: string): Translation => ({
  node: { code: 'part_mismatch', message },
  client: 'integrity',
})

/** Errors of the node and the SDK for each code of the part store. */
export const translations: Readonly<Record<HelperErrorCode, Translation>> = {
  bad_request: onlyAtHelper,
  bad_target: onlyAtHelper,
  browser_request: onlyAtHelper,
  duplicate_header: onlyAtHelper,
  encoding_refused: onlyAtHelper,
  range_refused: onlyAtHelper,
  upgrade_refused: onlyAtHelper,
  body_refused: onlyAtHelper,
  invalid_token: onlyAtHelper,
  method_not_allowed: onlyAtHelper,
  wrong_mode: onlyAtHelper,
  length_required: onlyAtHelper,
  part_too_large: onlyAtHelper,
  expectation_refused: onlyAtHelper,
  headers_too_large: onlyAtHelper,

  hash_mismatch: otherBytes('The hash of the bytes differs from the offer. Nothing was stored.'),
  part_conflict: otherBytes(
    'The part is already stored with the bytes of the offer. Other bytes are refused.',
  ),
  length_mismatch: {
    ...otherBytes('The body is shorter or longer than the part. Nothing was stored.'),
    client: 'storage_failed',
  },
  transfer_busy: {
    node: {
      code: 'transfer_busy',
      message: 'Another upload of this package is running. Retry when it has ended.',
      retryAfter: 'ownWait',
    },
    client: 'storage_failed',
  },
  parts_missing: {
    node: {
      code: 'state_conflict',
      message: 'Some parts are missing. The status lists the stored ones.',
      details: { missing: 'parts' },
    },
    client: 'storage_failed',
  },
  too_slow: {
    node: {
      code: 'unavailable',
      message: 'The body was slower than 64 KiB in ten seconds. Send the part again.',
      retryAfter: 'immediately',
    },
    client: 'storage_failed',
  },
  insufficient_space: {
    node: {
      code: 'storage_full',
      message: 'The disk of the node does not have enough free space for the package.',
      retryAfter: 'disk',
    },
    client: 'storage_failed',
  },
  expired: {
    node: {
      code: 'state_conflict',
      message: 'The transfer ended during the upload or download. The bytes of this request were not stored.',
    },
    client: 'storage_failed',
  },
  not_found: {
    node: { code: 'not_found', message: 'The part does not exist, or nothing has been uploaded.' },
    client: 'storage_failed',
  },
  destination_exists: { node: null, client: 'destination_exists' },
  file_changed: storeFailed,
  unsafe_file: storeFailed,
  internal: storeFailed,
  storage_failed: storeFailed,
}

/** Codes and meanings of failed starts. */
export const startErrors = {
  invalid_options: 'An option is missing, unknown, given twice, or has a value out of its range.',
  invalid_token: 'SERVICE_TRANSFER_TOKEN is not 43 to 128 characters of A-Z, a-z, 0-9, _ and -.',
  manifest_unreadable:
    'The manifest must be a regular file that belongs to this user and that no other user may write.',
  manifest_too_large: 'The manifest is longer than 1 MiB.',
  manifest_invalid: 'The manifest is not JSON of the specified form.',
  manifest_changed:
    'The folder holds parts of this transfer_id for another manifest. Choose a new transfer_id.',
  file_too_large: 'The file in the manifest is longer than --max-bytes.',
  file_missing: 'The file in the manifest is not in the folder.',
  file_mismatch: 'The file in the folder differs from the manifest.',
  unsafe_file:
    "A link, a special file or another user's file is in the place of one of the transfer's files.",
  root_unusable: 'The staging folder is missing, is a link, or is not accessible to this user.',
  storage_failed: 'The disk failed.',
  transfer_in_use: 'Another helper already serves this transfer_id from this folder.',
  port_in_use: 'Another program already listens on the port.',
  port_refused: 'This user may not listen on the port.',
  internal: 'The helper failed because of a bug.',
} as const
export type StartErrorCode = keyof typeof startErrors
