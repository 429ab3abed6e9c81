/**
 * Routes of the transfer protocol and their answers. The node's package endpoints use the same answers.
 *
 * The specification describes the fields in words. The names are our choice; docs/protocol.md lists them.
 *
 * Spec §2, §4.5.
 */
import type { TransferMode } from './manifest.ts'

/**
 * "manifest digest, manifest size, expiry, receiving verification state, and the verified committed part
 * indices".
 */
export interface TransferStatus {
  readonly transfer_id: string
  readonly mode: TransferMode
  /** SHA-256 of the bytes of the manifest file. */
  readonly manifest_digest: string
  /** Bytes of the manifest file. */
  readonly manifest_size: number
  /** Bytes of the file that the manifest describes; `sha256` is its hash. */
  readonly size: number
  readonly sha256: string
  readonly expires_at: string
  /** True once the helper has received and verified the whole file and published it under its name. */
  readonly verified: boolean
  readonly committed_parts: readonly number[]
}

/** "measured part length, measured hash, and a duplicate flag". */
export interface PartReceived {
  readonly index: number
  readonly size: number
  readonly sha256: string
  readonly duplicate: boolean
}

/** "verified true with receiving size and hash". */
export interface FileVerified {
  readonly verified: true
  readonly size: number
  readonly sha256: string
}

/** One line on standard output: "host, port, transfer_id, mode, expires_at". */
export interface ReadinessLine {
  readonly host: string
  readonly port: number
  readonly transfer_id: string
  readonly mode: TransferMode
  readonly expires_at: string
}

export const contentHashHeader = 'X-Content-SHA256'

export const transferPaths = {
  status: '/v1/status',
  file: '/v1/file',
  part: '/v1/parts/{index}',
  finalize: '/v1/finalize',
} as const
