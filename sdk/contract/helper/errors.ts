/**
 * The helper's own error catalogue: code → status and meaning. A body is exactly `{ "error": code }`.
 *
 * - A code is a fact and never changes meaning.
 * - The part store refuses with the same codes. {@link translations} says what the node and the SDK make of each.
 * - A start that fails prints one of `startErrors` on standard error, in the same shape. No response carries one.
 *
 * Spec §4.5, §7.
 */

export interface HelperErrorEntry {
  readonly status: number
  readonly meaning: string
}

/** The codes of the local helper: status and meaning. */
export const helperErrors = {
  bad_request: { status: 400, meaning: 'The bytes are not one well-formed HTTP/1.1 request.' },
  bad_target: {
    status: 400,
    meaning: 'The target is not a plain path: encoded, with a query, absolute, or with dot segments.',
  },
  browser_request: { status: 400, meaning: 'A browser sent it: Origin, Sec-Fetch-* or Cookie is present.' },
  duplicate_header: { status: 400, meaning: 'A header that must stand once stands more than once.' },
  encoding_refused: { status: 400, meaning: 'Transfer-Encoding, or a Content-Encoding other than identity.' },
  range_refused: { status: 400, meaning: 'Range headers are refused; parts are the ranges there are.' },
  upgrade_refused: { status: 400, meaning: 'The connection stays HTTP/1.1.' },
  body_refused: { status: 400, meaning: 'This request takes no body.' },
  invalid_token: { status: 401, meaning: 'The bearer token is missing, malformed or another.' },
  not_found: { status: 404, meaning: 'No such route, or no part of this index.' },
  method_not_allowed: { status: 405, meaning: 'The path has no such method; Allow names those it has.' },
  too_slow: {
    status: 408,
    meaning: 'Headers took longer than 5 s, or a body moved less than 64 KiB in 10 s.',
  },
  transfer_busy: {
    status: 409,
    meaning: 'Another file operation is running. Retry within the lifetime of the offer.',
  },
  wrong_mode: { status: 409, meaning: 'The route belongs to the other mode, download or upload.' },
  part_conflict: { status: 409, meaning: 'The part is committed with other bytes; they stay.' },
  parts_missing: { status: 409, meaning: 'Not every part is committed; the status names those that are.' },
  destination_exists: { status: 409, meaning: 'Another file has the name; it is never overwritten.' },
  file_changed: { status: 409, meaning: 'The file is no longer the one that was verified.' },
  unsafe_file: {
    status: 409,
    meaning: 'A link, a special file, or a file of another user stands where the transfer keeps its own.',
  },
  expired: { status: 410, meaning: 'The lifetime is over.' },
  length_required: { status: 411, meaning: 'An upload must say its Content-Length.' },
  part_too_large: { status: 413, meaning: 'Longer than a part may be (96 MiB).' },
  insufficient_space: { status: 413, meaning: 'The disk has not enough free space for the file.' },
  expectation_refused: { status: 417, meaning: 'The only expectation that is met is 100-continue.' },
  length_mismatch: { status: 422, meaning: 'The length is not that of the part in the manifest.' },
  hash_mismatch: { status: 422, meaning: 'The bytes do not have the hash that the manifest names.' },
  headers_too_large: { status: 431, meaning: 'More than 32 headers, or more than 8 KiB of them.' },
  internal: { status: 500, meaning: 'A bug of the helper.' },
  storage_failed: {
    status: 503,
    meaning: 'The disk failed; what was not answered with success is not kept.',
  },
} as const satisfies Record<string, HelperErrorEntry>
/** A code that the local helper refuses with. */
export type HelperErrorCode = keyof typeof helperErrors

/** A refusal of the node, by a code of sdk/contract/errors.ts. */
export interface NodeRefusal {
  readonly code: 'part_mismatch' | 'state_conflict' | 'not_found' | 'transfer_busy'
  readonly message: string
  readonly retryAfter?: UsualDelay
  readonly details?: { readonly missing: 'parts' }
}

/** {@link NodeRefusal} with a code that always names a delay. */
export interface WaitingRefusal<Code extends string> {
  readonly code: Code
  readonly message: string
  readonly retryAfter: UsualDelay
}

/** A delay of server/retry-after.ts. */
type UsualDelay = 'ownWait' | 'immediately' | 'disk'

/** One code of the part store, as the node and the SDK report it. */
export interface Translation {
  /** Refusal of the node. Null means that the store failed: the node answers `unavailable` and logs the error. */
  readonly node: NodeRefusal | WaitingRefusal<'unavailable'> | WaitingRefusal<'storage_full'> | null
  /** Code of the LocalError when a download fails with it. */
  readonly client: 'integrity' | 'destination_exists' | 'storage_failed'
}

/** The cause is the disk or another file beside the staged one, not the bytes. */
const storeFailed: Translation = { node: null, client: 'storage_failed' }
/** Only the HTTP side of a helper uses the code, so neither the node nor a download meets it. */
const onlyAtHelper = storeFailed

const otherBytes = (message: string): Translation => ({
  node: { code: 'part_mismatch', message },
  client: 'integrity',
})

/** What becomes of each code of the part store. */
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

/** Code → meaning of every start that fails. */
export const startErrors = {
  invalid_options: 'An option is missing, unknown, given twice, or has a value out of its range.',
  invalid_token: 'SERVICE_TRANSFER_TOKEN is not 43 to 128 characters of A-Z, a-z, 0-9, _ and -.',
  manifest_unreadable: 'The manifest is not a regular file of this user that nobody else may write.',
  manifest_too_large: 'The manifest is longer than 1 MiB.',
  manifest_invalid: 'The manifest is not the JSON that the specification describes.',
  manifest_changed:
    'The folder holds parts of this transfer_id for another manifest: take a new transfer_id.',
  file_too_large: 'The file that the manifest describes is longer than --max-bytes.',
  file_missing: 'The folder does not hold the file that the manifest describes.',
  file_mismatch: 'The file in the folder is not the one that the manifest describes.',
  unsafe_file: 'A link, a special file, or a file of another user stands where the transfer keeps its own.',
  root_unusable: 'The staging folder is missing, is a link, or cannot be used by this user.',
  storage_failed: 'The disk failed.',
  transfer_in_use: 'Another helper serves this transfer_id from this folder.',
  port_in_use: 'Another program listens on the port.',
  port_refused: 'This user may not listen on the port.',
  internal: 'A bug of the helper.',
} as const
export type StartErrorCode = keyof typeof startErrors
