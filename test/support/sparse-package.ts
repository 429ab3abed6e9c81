/**
 * A package of zeros, written into the store of a node as if it had been uploaded. It is larger than the
 * buffers of any connection.
 */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transfer } from '../../sdk/contract/agent/transfers.ts'
import type { TestAgent } from './agent.ts'
import type { TestBridge } from './bridge.ts'
import { offer, sha256 } from './files.ts'
import { tamper } from './tamper.ts'

export const partBytes = 16 * 1024 * 1024
export const packageBytes = 60 * partBytes
/** Any hash will do: these tests never verify the whole package. */
export const packageSha256 = sha256(Buffer.from('zeros'))

const zeros = sha256(Buffer.alloc(partBytes))

export async function storeZeros(
  bridge: TestBridge,
  { from, to, fields = {} }: { readonly from: TestAgent; readonly to: { id: string }; fields?: object },
): Promise<Transfer> {
  const part = { size: partBytes, sha256: zeros }
  const parts = Array.from({ length: 60 }, (_, index) => ({ index, offset: index * partBytes, ...part }))
  const file = { size: packageBytes, sha256: packageSha256, parts }
  const transfer = await offer({
    from,
    to: to as TestAgent,
    bytes: Buffer.alloc(0),
    fields: { ...file, ...fields },
  })
  const { id } = transfer
  // The node creates the folder on the first status request.
  await from.ok({ target: `/api/v1/transfers/${id}/package/status` })
  const stored = await open(join(bridge.data, 'packages', id, 'package'), 'wx', 0o600)
  await stored.truncate(packageBytes)
  await stored.close()
  tamper(bridge.data, (database) =>
    database.prepare('UPDATE transfers SET stored_at = created_at, stored_parts = 60 WHERE id = ?').run(id),
  )
  return transfer
}
