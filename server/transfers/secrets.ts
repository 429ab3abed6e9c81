/**
 * Endpoint and token of a direct transfer, as stored.
 *
 * They are encrypted with AES-256-GCM and the envelope key, with the transfer's id as associated data, so a
 * row cannot be decrypted as that of another transfer. A secret is destroyed when it expires, when it is
 * replaced, and when the transfer ends. Of an expired one an empty row remains until then, so that its end can
 * be told from a missing deposit. The column `expires_at` is in steady time.
 *
 * Contract §9 "Direct mode".
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { sql } from 'kysely'
import type { TransferSecret } from '../../sdk/contract/agent/transfers.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { transferSecretColumns } from '../database/columns.ts'
import { prepared } from '../database/prepared.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow, TransferSecretRow } from '../database/work-tables.ts'
import { retryAfterMs } from '../retry-after.ts'
import { readEnvelopeKeys } from '../storage/envelope-keys.ts'

/** The first key encrypts, each of them decrypts. */
type Keys = readonly [Buffer, ...Buffer[]]

const ivBytes = 12
const tagBytes = 16
const cipher = 'aes-256-gcm'

export function encrypt(key: Buffer, transferId: string, plain: string, iv: Buffer): Buffer {
  const encryption = createCipheriv(cipher, key, iv, { authTagLength: tagBytes })
  encryption.setAAD(Buffer.from(transferId))
  return Buffer.concat([iv, encryption.update(plain, 'utf8'), encryption.final(), encryption.getAuthTag()])
}

/** @throws if the bytes were encrypted with another key or for another transfer, or were changed */
export function decrypt(key: Buffer, transferId: string, sealed: Buffer): string {
  const iv = sealed.subarray(0, ivBytes)
  const decryption = createDecipheriv(cipher, key, iv, { authTagLength: tagBytes })
  decryption.setAAD(Buffer.from(transferId))
  decryption.setAuthTag(sealed.subarray(-tagBytes))
  const plain = [decryption.update(sealed.subarray(ivBytes, -tagBytes)), decryption.final()]
  return Buffer.concat(plain).toString('utf8')
}

/**
 * Decrypts with the first key that works: during a rotation a secret may still be encrypted with the previous
 * one. @throws as {@link decrypt}
 */
export function decryptWithAny(
  [key, ...others]: Keys,
  row: Pick<TransferSecretRow, 'transfer_id' | 'sealed'>,
): string {
  try {
    return decrypt(key, row.transfer_id, row.sealed)
  } catch (error) {
    const [next, ...rest] = others
    if (next === undefined) throw error
    return decryptWithAny([next, ...rest], row)
  }
}

/** @throws unavailable if there is no usable key; readiness reports that too */
function envelopeKeys(context: Context): Keys {
  try {
    return readEnvelopeKeys(context.config.envelopeKeyFile)
  } catch (cause) {
    throw new ApiError('unavailable', {
      message: 'The server has no usable envelope key. The operator of the node has to restore it.',
      retryAfterMs: retryAfterMs.otherParty,
      cause,
    })
  }
}

export interface Deposit {
  readonly deposited_by: string
  /** In steady time. */
  readonly ends_at: string
  readonly secret: TransferSecret
}

export async function depositSecret(
  context: Context,
  tx: Tx,
  transfer: TransferRow,
  { deposited_by, ends_at, secret }: Deposit,
): Promise<void> {
  const sealed = encrypt(
    envelopeKeys(context)[0],
    transfer.id,
    JSON.stringify(secret),
    context.random(ivBytes) as Buffer,
  )
  const row = { deposited_by, sealed, expires_at: ends_at }
  await tx.db
    .insertInto('transfer_secrets')
    .values({ transfer_id: transfer.id, project_id: transfer.project_id, ...row })
    .onConflict((conflict) => conflict.column('transfer_id').doUpdateSet(row))
    .execute()
}

const find = prepared<{ transfer_id: string }>()((db, p) =>
  db.selectFrom('transfer_secrets').select(transferSecretColumns).where('transfer_id', '=', p('transfer_id')),
)

export const findSecret = (db: Db, transferId: string): Promise<TransferSecretRow | undefined> =>
  find.first(db, { transfer_id: transferId })

export const decryptSecret = (context: Context, row: TransferSecretRow): TransferSecret =>
  JSON.parse(decryptWithAny(envelopeKeys(context), row)) as TransferSecret

export async function destroySecret(tx: Tx, transferId: string): Promise<void> {
  await tx.db.deleteFrom('transfer_secrets').where('transfer_id', '=', transferId).execute()
}

const hasBytes = sql<boolean>`length(sealed) > 0`

export const isDestroyed = ({ sealed }: Pick<TransferSecretRow, 'sealed'>): boolean => sealed.length === 0

const emptyExpired = (tx: Tx, steadyIso: string) =>
  tx.db
    .updateTable('transfer_secrets')
    .set({ sealed: Buffer.alloc(0) })
    .where('expires_at', '<=', steadyIso)
    .where(hasBytes)

/** Destroys the secret of a transfer if it has expired or the transfer has ended. */
export async function destroyIfExpired(tx: Tx, transferId: string, steadyIso: string): Promise<void> {
  const openTransfers = tx.db
    .selectFrom('transfers')
    .select('id')
    .where('id', '=', transferId)
    .where('ends_at', '>', steadyIso)
  await tx.db
    .deleteFrom('transfer_secrets')
    .where('transfer_id', '=', transferId)
    .where('transfer_id', 'not in', openTransfers)
    .execute()
  await emptyExpired(tx, steadyIso).where('transfer_id', '=', transferId).execute()
}

/** Destroys all expired secrets, whatever the state of their transfers. */
export async function destroyExpiredSecrets(tx: Tx, steadyIso: string): Promise<void> {
  await emptyExpired(tx, steadyIso).execute()
}

/** Those that are not destroyed. */
const all = (tx: Tx) =>
  tx.db.selectFrom('transfer_secrets').select(['transfer_id', 'sealed']).where(hasBytes).execute()

const tryDecrypt = (
  keys: Keys,
  row: Pick<TransferSecretRow, 'transfer_id' | 'sealed'>,
): string | undefined => {
  try {
    return decryptWithAny(keys, row)
  } catch {
    // Encrypted with an unknown key. The caller counts it.
    return undefined
  }
}

/** Encrypts every secret that one of the keys decrypts with the first key. */
export async function reencryptSecrets(
  tx: Tx,
  keys: Keys,
  random: (bytes: number) => Buffer,
): Promise<{ readonly resealed: number; readonly unopened: number }> {
  let resealed = 0
  let unopened = 0
  for (const row of await all(tx)) {
    const plain = tryDecrypt(keys, row)
    if (plain === undefined) unopened += 1
    else {
      const sealed = encrypt(keys[0], row.transfer_id, plain, random(ivBytes))
      await tx.db
        .updateTable('transfer_secrets')
        .set({ sealed })
        .where('transfer_id', '=', row.transfer_id)
        .execute()
      resealed += 1
    }
  }
  return { resealed, unopened }
}

/** Whether the key decrypts all secrets but at most `unopened`, which no known key decrypts. */
export const isAllEncryptedWith = async (tx: Tx, key: Buffer, unopened: number): Promise<boolean> =>
  (await all(tx)).filter((row) => tryDecrypt([key], row) === undefined).length <= unopened

/** Deletes secrets that no key decrypts. Their side can deposit a new one. */
export async function destroyUndecryptable(tx: Tx, keys: Keys): Promise<void> {
  for (const row of await all(tx))
    if (tryDecrypt(keys, row) === undefined) await destroySecret(tx, row.transfer_id)
}
