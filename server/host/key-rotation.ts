/**
 * Rotates the envelope key, with or without a running server. The process may be killed at any point.
 *
 * 1. In one transaction, a new key is written to the file before the old ones, and then every secret is
 * encrypted again with it.
 *
 * 2. In the next transaction, if every secret is encrypted with the first key, the other keys are deleted
 * from the file.
 *
 * Two rotations, or a rotation and the deposit of a secret, exclude each other by the write lock of the
 * database: code that encrypts reads the file inside its own transaction. A kill leaves a file whose keys
 * decrypt everything. The next rotation starts from it and ends with one key.
 *
 * Contract §9 "sealed with the envelope key".
 */

import {
  closeSync,
  fchownSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { recordAudit, systemActor } from '../audit/store.ts'
import { ConfigError } from '../config-error.ts'
import { everyLane } from '../database/lanes.ts'
import type { Writer } from '../database/writer.ts'
import {
  envelopeKeyBytes,
  keyCheck,
  keyText,
  makeEnvelopeKey,
  readEnvelopeKeys,
} from '../storage/envelope-keys.ts'
import { destroyUndecryptable, isAllEncryptedWith, reencryptSecrets } from '../transfers/secrets.ts'
import { sync } from './backups/new-file.ts'

export interface RotationOptions {
  readonly write: Writer['write']
  readonly random: (bytes: number) => Buffer
  /** Path of the key file. */
  readonly path: string
  /** The old key is lost: make a new one and delete secrets that no key decrypts. */
  readonly lost: boolean
}

export interface RotationReport {
  readonly key_file: string
  /** Number of direct-transfer endpoints that are now encrypted with the new key. */
  readonly resealed: number
  /** Number of secrets that no key in the file decrypts. With `lost` they are deleted. */
  readonly unopened: number
}

/**
 * Rotates the key. @throws ConfigError if the key file cannot be used or written; the old key is still valid
 * then
 */
export async function rotateEnvelopeKey(options: RotationOptions): Promise<RotationReport> {
  const { write, random, lost } = options
  const path = keyFileOf(options)
  const counts = await write(everyLane, async (tx) => {
    const keys = [random(envelopeKeyBytes), ...readEnvelopeKeys(path)] as const
    replaceKeyFile(path, keys)
    const counted = await reencryptSecrets(tx, keys, random)
    if (lost) await destroyUndecryptable(tx, keys)
    await tx.db
      .updateTable('server')
      .set({ envelope_key_check: keyCheck(keys[0]) })
      .where('envelope_key_check', 'is not', null)
      .execute()
    await recordAudit(tx, {
      kind: 'envelope_key.rotated',
      actor: systemActor,
      project_id: null,
      subject: { type: 'envelope_key', id: null },
      details: { ...counted, lost },
    })
    return counted
  })
  await write(everyLane, async (tx) => {
    const [first] = readEnvelopeKeys(path)
    // If another rotation ran in between, its key is the first one, and every secret is encrypted with that.
    if (await isAllEncryptedWith(tx, first, lost ? 0 : counts.unopened)) replaceKeyFile(path, [first])
  })
  return { key_file: path, ...counts }
}

/** Resolves a symbolic link to the key file, so that the link remains. @throws ConfigError */
function keyFileOf({ path, lost, random }: RotationOptions): string {
  if (lost) makeEnvelopeKey(path, random)
  try {
    readEnvelopeKeys(path)
    return realpathSync(path)
  } catch (cause) {
    throw new ConfigError(
      `the envelope key ${path} is missing or is not 32 bytes of base64; restore it from a copy, or move it away and use --lost`,
      { cause },
    )
  }
}

/**
 * Replaces the file by one rename. A kill before it leaves the old file and a partial one, which the next run
 * overwrites.
 */
function replaceKeyFile(path: string, keys: readonly Buffer[]): void {
  const partial = `${path}.partial`
  try {
    const file = openSync(partial, 'w', 0o600)
    try {
      chownLike(file, statSync(path))
      writeSync(file, keyText(keys))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(partial, path)
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    throw new ConfigError(`cannot write the envelope key ${path} (${code}); the old key is still in use`, {
      cause,
    })
  }
  sync(dirname(path))
}

/** Keeps the owner of the file, because root may rotate the key of a server that runs as another user. */
function chownLike(file: number, { uid, gid }: Stats): void {
  if (process.getuid?.() === 0) fchownSync(file, uid, gid)
}
