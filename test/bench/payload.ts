/** Files for measurements. */
import { randomFillSync } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'

/** Writes a file of one repeated random block; returns its path. */
export function filled(path: string, size: number): string {
  const block = randomFillSync(Buffer.alloc(1024 * 1024))
  const opened = openSync(path, 'w', 0o600)
  for (let at = 0; at < size; at += block.length)
    writeSync(opened, block, 0, Math.min(block.length, size - at))
  closeSync(opened)
  return path
}
