/**
 * The envelope key: what is sealed in the database opens only with it, and it lies outside.
 *
 * The file holds 32 bytes in base64 on a line. While keys are exchanged it holds more lines: the first seals, each opens.
 * It is read at every use, so an exchange needs no restart.
 *
 * Spec §4.4; contract §9 "Direct mode".
 */
import { existsSync, readFileSync } from 'node:fs'
import { writeSecretFile } from '../data-folder.ts'

export const envelopeKeyBytes = 32

/** The first seals. @throws when the file is missing, cannot be read, or holds anything else than keys */
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
    // Missing or unreadable: the check's answer is no, and the server's log names the path at start.
    return false
  }
}

export const keyText = (keys: readonly Buffer[]): string =>
  keys.map((key) => `${key.toString('base64')}\n`).join('')

/** Where there is none yet. Answers whether one was made. */
export function makeEnvelopeKey(path: string, random: (bytes: number) => Buffer): boolean {
  if (existsSync(path)) return false
  writeSecretFile(path, keyText([random(envelopeKeyBytes)]))
  return true
}
