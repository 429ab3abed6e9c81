/** Whether the data folder holds the bytes of a package, which no backup contains. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TransferRow } from '../../database/work-tables.ts'

/** Whether the uploaded bytes exist. The parts are hashed again when the upload resumes. */
export function hasBytes(data: string, { id, stored_at, size }: TransferRow): boolean {
  const folder = join(data, 'packages', id)
  if (stored_at === null) return existsSync(folder) && readdirSync(folder).length > 0
  return statSync(join(folder, 'package'), { throwIfNoEntry: false })?.size === size
}
