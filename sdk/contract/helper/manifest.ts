/**
 * The transfer manifest: its types, its validation, and its text form.
 *
 * It uses plain functions instead of schemas. The helper must start within twice the time of an empty
 * program, and loading the schema library alone takes that long.
 *
 * Spec §2, Transfer manifest.
 */
import { transferLimits } from './limits.ts'

/** One part of a file: index, offset and length in bytes, SHA-256 in hex. */
export interface ManifestPart {
  readonly index: number
  readonly offset: number
  readonly size: number
  readonly sha256: string
}

/** Direction of the bytes, seen from the client of the helper. */
export type TransferMode = 'download' | 'upload'

/** Description of a file: its name, size in bytes, SHA-256 in hex, and parts. */
export interface Manifest {
  readonly version: '1'
  readonly transfer_id: string
  readonly mode: TransferMode
  readonly filename: string
  readonly size: number
  readonly sha256: string
  readonly parts: readonly ManifestPart[]
}

export const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** "reserved Windows names": the stem before the first dot, in any case. */
const reservedStem = /^(con|prn|aux|nul|clock\$|conin\$|conout\$|com[0-9]|lpt[0-9])$/i

/**
 * Characters that a filename may not have: all but printable ASCII, and those with a meaning in Windows
 * paths.
 */
const noNameCharacter = /[^ -~]|[/\\:*?"<>|]/

/** The rule of {@link isFilename} in words, for error messages. */
export const filenameRule =
  'printable ASCII without / \\ : * ? " < > |, no space at either end, no dot at the end, no two dots in a row, ' +
  'no reserved Windows name'

/** "one ASCII filename; no directories, reserved Windows names, trailing dots, colons or repeated dots". */
export function isFilename(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    name.length >= 1 &&
    name.length <= transferLimits.filenameChars &&
    !noNameCharacter.test(name) &&
    name.trim() === name &&
    !name.includes('..') &&
    !name.endsWith('.') &&
    !reservedStem.test(stemOf(name))
  )
}

/** Part of a name before its first dot. Windows treats `con .txt` as `con`, so trailing spaces are cut. */
const stemOf = (name: string): string => (name.split('.', 1)[0] ?? '').trimEnd()

/** "only ASCII letters, digits, `_`, `-`". The length is limited because file names are derived from the id. */
export const isTransferId = (id: unknown): id is string =>
  typeof id === 'string' && /^[A-Za-z0-9_-]{1,128}$/.test(id)

const isSha256 = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const manifestFields = ['version', 'transfer_id', 'mode', 'filename', 'size', 'sha256', 'parts']
const partFields = ['index', 'offset', 'size', 'sha256']

function hasExactly(value: unknown, fields: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const names = Object.keys(value)
  return names.length === fields.length && fields.every((field) => Object.hasOwn(value, field))
}

/** Returns the path and reason of the first fault of a manifest, or undefined if it is valid. */
export function manifestFault(value: unknown): string | undefined {
  if (!hasExactly(value, manifestFields)) return `must have exactly the fields ${manifestFields.join(', ')}`
  const { version, transfer_id, mode, filename, size, sha256, parts } = value
  if (version !== '1') return 'version must be the string 1'
  if (!isTransferId(transfer_id)) return 'transfer_id must be 1 to 128 of A-Z, a-z, 0-9, _ and -'
  if (mode !== 'download' && mode !== 'upload') return 'mode must be download or upload'
  if (!isFilename(filename))
    return `filename must be 1 to ${transferLimits.filenameChars} characters: ${filenameRule}`
  if (!isSize(size)) return 'size must be a whole number of bytes'
  if (!isSha256(sha256)) return 'sha256 must be 64 lower-case hex digits'
  if (!Array.isArray(parts)) return 'parts must be a list'
  return partsFault(parts, size, sha256)
}

function partsFault(parts: readonly unknown[], size: number, sha256: string): string | undefined {
  if (parts.length < 1 || parts.length > transferLimits.parts) {
    return `parts must be 1 to ${transferLimits.parts}`
  }
  if (size === 0 && parts.length > 1) return 'parts must hold exactly one part if the file is empty'
  let offset = 0
  for (const [index, part] of parts.entries()) {
    const fault = partFault(part, index, offset, size)
    if (fault !== undefined) return `parts[${index}] ${fault}`
    offset += (part as ManifestPart).size
  }
  if (offset !== size) return 'parts must cover the file exactly'
  const [only] = parts as ManifestPart[]
  if (parts.length === 1 && only?.sha256 !== sha256) return 'parts[0].sha256 must be that of the file'
  if (size === 0 && sha256 !== emptySha256) return 'sha256 must be that of no bytes'
  return undefined
}

/**
 * "starts at 0", "parts cover the file contiguously", "at most 96 MiB", and only an empty file has an empty
 * part.
 */
function partFault(part: unknown, index: number, offset: number, fileSize: number): string | undefined {
  if (!hasExactly(part, partFields)) return `must have exactly the fields ${partFields.join(', ')}`
  if (part.index !== index) return `index must be ${index}`
  if (part.offset !== offset) return `offset must be ${offset}`
  if (!isSize(part.size) || part.size > transferLimits.partBytes) {
    return `size must be at most ${transferLimits.partBytes}`
  }
  if (part.size === 0 && fileSize > 0) return 'size must not be 0'
  return isSha256(part.sha256) ? undefined : 'sha256 must be 64 lower-case hex digits'
}

/**
 * Parses the text of a manifest, and returns the manifest or its fault.
 *
 * If a field appears twice, `JSON.parse` silently keeps the last one. No valid value contains a colon, so a
 * text with more colons than fields has a duplicate field.
 */
export function parseManifest(text: string): Manifest | { readonly fault: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: 'must be JSON' }
  }
  const fault = manifestFault(value)
  if (fault !== undefined) return { fault }
  const manifest = value as Manifest
  const fields = manifestFields.length + partFields.length * manifest.parts.length
  return text.split(':').length - 1 === fields ? manifest : { fault: 'must have each field once' }
}

/** Returns the canonical text of a manifest, so that both sides compute the same digest. */
export function manifestText(manifest: Manifest): string {
  const { version, transfer_id, mode, filename, size, sha256, parts } = manifest
  const ordered = parts.map(({ index, offset, size, sha256 }) => ({ index, offset, size, sha256 }))
  return `${JSON.stringify({ version, transfer_id, mode, filename, size, sha256, parts: ordered })}\n`
}
