/**
 * Exchanging the envelope key, with the server running or not, killed anywhere.
 *
 * 1. In one transaction: the file gets a new key before the old ones, then everything sealed is sealed again with the new one.
 * 2. In the next: where everything opens with the first key, the others leave the file.
 *
 * The write lock of the database is what keeps two of these, and a deposit, apart: whoever seals reads the file inside its
 * own transaction. A kill leaves a file whose keys open everything; the next run begins with it and ends with one key.
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
import { recordAudit, systemActor } from '../../audit/store.ts'
import { ConfigError } from '../../config-error.ts'
import type { Writer } from '../../database/writer.ts'
import { forgetUnopened, isAllSealedWith, resealSecrets } from '../../transfers/secrets.ts'
import { sync } from '../backups/new-file.ts'
import { envelopeKeyBytes, keyText, makeEnvelopeKey, readEnvelopeKeys } from './keys.ts'

export interface RotationOptions {
  readonly write: Writer['write']
  readonly random: (bytes: number) => Buffer
  /** The key file. */
  readonly path: string
  /** The old key is lost: begin with a new one, and forget what nobody can open. */
  readonly lost: boolean
}

export interface RotationReport {
  readonly key_file: string
  /** Endpoints of direct transfers that are sealed with the new key now. */
  readonly resealed: number
  /** Sealed with a key that is not in the file. With `lost` they are forgotten. */
  readonly unopened: number
}

/** @throws ConfigError when the key file cannot be used or written; then the old key is still good */
export async function rotateEnvelopeKey(options: RotationOptions): Promise<RotationReport> {
  const { write, random, lost } = options
  const path = keyFileOf(options)
  const counts = await write(async (tx) => {
    const keys = [random(envelopeKeyBytes), ...readEnvelopeKeys(path)] as const
    replaceKeyFile(path, keys)
    const counted = await resealSecrets(tx, keys, random)
    if (lost) await forgetUnopened(tx, keys)
    await recordAudit(tx, {
      kind: 'envelope_key.rotated',
      actor: systemActor,
      project_id: null,
      subject: { type: 'envelope_key', id: null },
      details: { ...counted, lost },
    })
    return counted
  })
  await write(async (tx) => {
    const [first] = readEnvelopeKeys(path)
    // Another run may have come in between: then its key is the first, and everything is sealed with that.
    if (await isAllSealedWith(tx, first, lost ? 0 : counts.unopened)) replaceKeyFile(path, [first])
  })
  return { key_file: path, ...counts }
}

/** Where the file really lies: a link to it stays a link. @throws ConfigError */
function keyFileOf({ path, lost, random }: RotationOptions): string {
  if (lost) makeEnvelopeKey(path, random)
  try {
    readEnvelopeKeys(path)
    return realpathSync(path)
  } catch (cause) {
    throw new ConfigError(
      `the envelope key ${path} is missing or is not 32 bytes of base64; put it back, or move it away and say --lost`,
      { cause },
    )
  }
}

/** One rename; a kill before it leaves the file as it was, beside a partial one that the next run writes over. */
function replaceKeyFile(path: string, keys: readonly Buffer[]): void {
  const partial = `${path}.partial`
  try {
    const file = openSync(partial, 'w', 0o600)
    try {
      belongAs(file, statSync(path))
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

/** Root may exchange the key of a server that runs as somebody else. */
function belongAs(file: number, { uid, gid }: Stats): void {
  if (process.getuid?.() === 0) fchownSync(file, uid, gid)
}
