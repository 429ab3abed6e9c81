/**
 * Proofs: an Ed25519 signature over a canonical text, as 86 characters of base64url.
 *
 * A proof has one spelling. Node's decoder ignores padding, foreign characters and stray trailing bits, so the form is
 * checked before anything is decoded; OpenSSL refuses S ≥ L and an R that is not canonical.
 *
 * Contract §3.
 */
import { type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto'
import { headerRules } from '../contract/headers.ts'

/** Verifications of this turn of the event loop and those on the thread pool. The pool is one for the process; so is this. */
let pending = 0

/** The most at once since there was last none. */
let most = 0

export const pendingVerifications = (): number => pending

/** The proof of a canonical text. See {@link verify}. */
export const sign = (privateKey: KeyObject, text: string): string =>
  signBytes(null, Buffer.from(text), privateKey).toString('base64url')

/** The 64 signature bytes, or undefined when the text is not their canonical base64url. */
export const decodeProof = (text: string): Buffer | undefined =>
  headerRules.proof.test(text) ? Buffer.from(text, 'base64url') : undefined

/**
 * Whether the proof is the key's over the text. False, never an error, for a proof of a wrong form.
 *
 * Give it keys from `importPublicKey` only: a small-order key verifies any text.
 */
export async function verify(publicKey: KeyObject, text: string, proof: string): Promise<boolean> {
  const signature = decodeProof(proof)
  if (signature === undefined) return false
  const bytes = Buffer.from(text)
  return isAlone() ? verifyHere(publicKey, bytes, signature) : verifyOnPool(publicKey, bytes, signature)
}

/**
 * One alone is faster on the calling thread (no hand-over); a queue is faster on the thread pool, which uses the other
 * cores. Where several came together last time, the first of the next is not alone either.
 */
function isAlone(): boolean {
  if (pending > 0) return false
  const wereSeveral = most > 1
  most = 0
  return !wereSeveral
}

function verifyHere(publicKey: KeyObject, bytes: Buffer, signature: Buffer): boolean {
  count()
  // Counted until the turn ends: requests that arrived together are a queue even though each one finishes at once.
  setImmediate(release)
  return verifyBytes(null, bytes, publicKey, signature)
}

function verifyOnPool(publicKey: KeyObject, bytes: Buffer, signature: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    verifyBytes(null, bytes, publicKey, signature, (error, valid) => {
      release()
      if (error) reject(error)
      else resolve(valid)
    })
    count()
  })
}

function count(): void {
  pending += 1
  most = Math.max(most, pending)
}

function release(): void {
  pending -= 1
}
