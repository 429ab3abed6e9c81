/**
 * Proofs that a lenient verifier would accept: second encodings, and values that no signer makes. RFC 8032,
 * section 5.1.
 */
import { createHash } from 'node:crypto'
import { publicKey, seed } from './vector.ts'

/** L, the order of the base point. */
export const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n

export const fromLittleEndian = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

const toLittleEndian = (value: bigint): Buffer =>
  Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse()

/** Returns the same R with another S. */
export const withS = (signature: Buffer, s: bigint): string =>
  Buffer.concat([signature.subarray(0, 32), toLittleEndian(s)]).toString('base64url')

/** Returns a copy with the lowest bit of one byte changed. */
export function flipped(signature: Buffer, index: number): string {
  const copy = Buffer.from(signature)
  copy.writeUInt8(copy.readUInt8(index) ^ 1, index)
  return copy.toString('base64url')
}

/**
 * The same bytes for a lenient decoder: the last of 86 characters encodes two bits, and the next letter sets
 * a third.
 */
export const strayBits = (proof: string): string =>
  proof.slice(0, 85) + String.fromCharCode(proof.charCodeAt(85) + 1)

/**
 * The test key's signature with r = 0, so that R is the identity, in the given encoding. S is correct for
 * that encoding: a verifier that compares points accepts it, one that compares the bytes of R accepts the
 * reduced encoding only.
 */
export function proofWithIdentityR(spellingHex: string, text: Buffer): Buffer {
  const spelling = Buffer.from(spellingHex, 'hex')
  const secretHash = createHash('sha512').update(Buffer.from(seed, 'base64url')).digest()
  const scalar = (fromLittleEndian(secretHash.subarray(0, 32)) & (2n ** 254n - 8n)) | (2n ** 254n)
  const challenge = createHash('sha512')
    .update(spelling)
    .update(Buffer.from(publicKey, 'base64url'))
    .update(text)
    .digest()
  return Buffer.concat([spelling, toLittleEndian((fromLittleEndian(challenge) * scalar) % groupOrder)])
}
