/**
 * The envelope key, which encrypts secrets in the database. It is stored outside of it.
 *
 * The file contains 32 bytes in base64 on one line. During a rotation it has more lines: the first key
 * encrypts, and each of them decrypts. The file is read at every use, so a rotation needs no restart.
 *
 * Spec §4.4; contract §9 "Direct mode".
 */
import { existsSync, readFileSync } from 'node:fs'
import { writeSecretFile } from './data-folder.ts'

export const envelopeKeyBytes = 32

/**
 * Returns the keys. The first one encrypts. @throws if the file is missing or unreadable, or contains
 * anything but keys
 */
export function readEnvelopeKeys(path: string): readonly [Buffer, ...Buffer[]] {
  const lines = readFileSync(path, 'utf8')
    .trim()
    .split(/\s*\n\s*/)
  const keys = lines.map((line) => Buffer.from(line, 'base64'))
  const [first, ...rest] = keys
  if (first === undefined || keys.some((key) => key.length !== envelopeKeyBytes))
    throw new Error(`${path} is not ${envelopeKeyBytes} bytes of base64`)
  return [first, ...rest]
}

export function isEnvelopeKey(path: string): boolean {
  try {
    return readEnvelopeKeys(path).length > 0
  } catch {
    // Missing or unreadable: the answer is false, and the server logs the path at its start.
    return false
  }
}

export const keyText = (keys: readonly Buffer[]): string =>
  keys.map((key) => `${key.toString('base64')}\n`).join('')

/** Makes a key file if there is none. Returns whether it made one. */
export function makeEnvelopeKey(path: string, random: (bytes: number) => Buffer): boolean {
  if (existsSync(path)) return false
  writeSecretFile(path, keyText([random(envelopeKeyBytes)]))
  return true
}
