/**
 * Endpoint and token of a direct transfer, at rest.
 *
 * Sealed with AES-256-GCM under the envelope key, the transfer's id as associated data: the row of another transfer does
 * not open. Gone at its expiry, with its replacement, and when the transfer ends. `expires_at` of a row is steady time.
 *
 * Contract §9 "Direct mode".
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { TransferSecret } from '../../sdk/contract/agent/transfers.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { prepared } from '../database/prepared.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow, TransferSecretRow } from '../database/work-tables.ts'
import { readEnvelopeKeys } from '../host/envelope/keys.ts'
import { retryAfterMs } from '../retry-after.ts'

/** The first seals, each opens. */
type Keys = readonly [Buffer, ...Buffer[]]

const ivBytes = 12
const tagBytes = 16
const cipher = 'aes-256-gcm'

export function seal(key: Buffer, transferId: string, plain: string, iv: Buffer): Buffer {
  const sealing = createCipheriv(cipher, key, iv, { authTagLength: tagBytes })
  sealing.setAAD(Buffer.from(transferId))
  return Buffer.concat([iv, sealing.update(plain, 'utf8'), sealing.final(), sealing.getAuthTag()])
}

/** @throws when the bytes were sealed with another key, for another transfer, or changed */
export function open(key: Buffer, transferId: string, sealed: Buffer): string {
  const iv = sealed.subarray(0, ivBytes)
  const opening = createDecipheriv(cipher, key, iv, { authTagLength: tagBytes })
  opening.setAAD(Buffer.from(transferId))
  opening.setAuthTag(sealed.subarray(-tagBytes))
  const plain = [opening.update(sealed.subarray(ivBytes, -tagBytes)), opening.final()]
  return Buffer.concat(plain).toString('utf8')
}

/** While keys are exchanged a secret may still be sealed with the one before. @throws as {@link open} */
export function openWithAny(
  [key, ...others]: Keys,
  row: Pick<TransferSecretRow, 'transfer_id' | 'sealed'>,
): string {
  try {
    return open(key, row.transfer_id, row.sealed)
  } catch (error) {
    const [next, ...rest] = others
    if (next === undefined) throw error
    return openWithAny([next, ...rest], row)
  }
}

/** @throws unavailable when there is no usable key; readiness says so too */
function envelopeKeys(context: Context): Keys {
  try {
    return readEnvelopeKeys(context.config.envelopeKeyFile)
  } catch (cause) {
    throw new ApiError('unavailable', {
      message: 'The server has no usable envelope key; its operator must act.',
      retryAfterMs: retryAfterMs.others,
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
  const sealed = seal(
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
  db.selectFrom('transfer_secrets').selectAll().where('transfer_id', '=', p('transfer_id')),
)

export const findSecret = (db: Db, transferId: string): Promise<TransferSecretRow | undefined> =>
  find.first(db, { transfer_id: transferId })

export const openSecret = (context: Context, row: TransferSecretRow): TransferSecret =>
  JSON.parse(openWithAny(envelopeKeys(context), row)) as TransferSecret

export async function destroySecret(tx: Tx, transferId: string): Promise<void> {
  await tx.db.deleteFrom('transfer_secrets').where('transfer_id', '=', transferId).execute()
}

/** The one of a transfer, when it or the transfer is over now. */
export async function destroyIfOver(tx: Tx, transferId: string, steadyIso: string): Promise<void> {
  const open = tx.db
    .selectFrom('transfers')
    .select('id')
    .where('id', '=', transferId)
    .where('ends_at', '>', steadyIso)
  await tx.db
    .deleteFrom('transfer_secrets')
    .where('transfer_id', '=', transferId)
    .where((where) => where.or([where('expires_at', '<=', steadyIso), where('transfer_id', 'not in', open)]))
    .execute()
}

/** Those that are over, wherever their transfers stand. */
export async function destroyExpiredSecrets(tx: Tx, steadyIso: string): Promise<void> {
  await tx.db.deleteFrom('transfer_secrets').where('expires_at', '<=', steadyIso).execute()
}

const all = (tx: Tx) => tx.db.selectFrom('transfer_secrets').select(['transfer_id', 'sealed']).execute()

const opened = (keys: Keys, row: Pick<TransferSecretRow, 'transfer_id' | 'sealed'>): string | undefined => {
  try {
    return openWithAny(keys, row)
  } catch {
    // Sealed with a key that is not known here; who asks counts it.
    return undefined
  }
}

/** Everything that one of the keys opens is sealed with the first afterwards. */
export async function resealSecrets(
  tx: Tx,
  keys: Keys,
  random: (bytes: number) => Buffer,
): Promise<{ readonly resealed: number; readonly unopened: number }> {
  let resealed = 0
  let unopened = 0
  for (const row of await all(tx)) {
    const plain = opened(keys, row)
    if (plain === undefined) unopened += 1
    else {
      const sealed = seal(keys[0], row.transfer_id, plain, random(ivBytes))
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

/** Whether one key opens everything, but for so many that none opens. */
export const isAllSealedWith = async (tx: Tx, key: Buffer, unopened: number): Promise<boolean> =>
  (await all(tx)).filter((row) => opened([key], row) === undefined).length <= unopened

/** What none of the keys opens is of use to nobody: its side deposits a fresh one. */
export async function forgetUnopened(tx: Tx, keys: Keys): Promise<void> {
  for (const row of await all(tx))
    if (opened(keys, row) === undefined) await destroySecret(tx, row.transfer_id)
}
