/**
 * The envelope key, which encrypts secrets in the database. It is stored outside of it.
 *
 * The file contains 32 bytes in base64 on one line. During a rotation it has more lines: the first key
 * encrypts, and each of them decrypts. The file is read at every use, so a rotation needs no restart.
 *
 * Spec §4.4; contract §9 "Direct mode".
 */
import { createHmac } from 'node:crypto'
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

/** The key file is not the one with which the secrets of the installation are sealed. */
export class OtherEnvelopeKeyError extends Error {
  override readonly name = 'OtherEnvelopeKeyError'
}

/** Returns a value that is the same for the same key, and from which the key cannot be computed. */
export const keyCheck = (key: Buffer): string =>
  createHmac('sha256', key).update('envelope key of agent-bridge').digest('base64url')

/** Returns the check value of the key that encrypts. Undefined if the file contains no keys. */
export const keyCheckOf = (path: string): string | undefined =>
  isEnvelopeKey(path) ? keyCheck(readEnvelopeKeys(path)[0]) : undefined

/** Whether one of the keys has the recorded check value. During a rotation it may be any of them. */
export const hasKey = (path: string, recorded: string): boolean =>
  isEnvelopeKey(path) && readEnvelopeKeys(path).some((key) => keyCheck(key) === recorded)

/** @throws OtherEnvelopeKeyError if a key is recorded and the file does not contain it */
export function requireSameKey(path: string, recorded: string | null): void {
  if (recorded === null || hasKey(path, recorded)) return
  throw new OtherEnvelopeKeyError(
    `${path} is not the envelope key with which the secrets of this installation are sealed`,
  )
}

export const keyText = (keys: readonly Buffer[]): string =>
  keys.map((key) => `${key.toString('base64')}\n`).join('')

/** Makes a key file if there is none. Returns whether it made one. */
export function makeEnvelopeKey(path: string, random: (bytes: number) => Buffer): boolean {
  if (existsSync(path)) return false
  writeSecretFile(path, keyText([random(envelopeKeyBytes)]))
  return true
}
