/**
 * Proofs: Ed25519 signatures over a canonical text, as 86 characters of base64url.
 *
 * A proof has exactly one spelling. Node's decoder ignores padding, foreign characters and stray trailing
 * bits, so the form is checked before decoding. OpenSSL refuses S ≥ L and a non-canonical R.
 *
 * Contract §3.
 */
import { type KeyObject, sign as signBytes, verify as verifyBytes } from 'node:crypto'
import { headerRules } from '../contract/headers.ts'

/**
 * Verifications of this event-loop turn plus those on the thread pool. Global, because the process has one
 * thread pool.
 */
let pending = 0

/** Highest value of `pending` since it was last 0. */
let most = 0

/** Returns the number of verifications in flight. */
export const pendingVerifications = (): number => pending

/** Signs a canonical text and returns the proof. {@link verify} checks it. */
export const sign = (privateKey: KeyObject, text: string): string =>
  signBytes(null, Buffer.from(text), privateKey).toString('base64url')

/**
 * Decodes a proof to its 64 signature bytes, or returns undefined if the text is not canonical base64url of
 * them.
 */
export const decodeProof = (text: string): Buffer | undefined =>
  headerRules.proof.test(text) ? Buffer.from(text, 'base64url') : undefined

/**
 * Verifies that the proof is the key's signature over the text. A malformed proof gives false, not an error.
 *
 * Pass only keys from `importPublicKey`: a small-order key verifies any text.
 */
export async function verify(publicKey: KeyObject, text: string, proof: string): Promise<boolean> {
  const signature = decodeProof(proof)
  if (signature === undefined) return false
  const bytes = Buffer.from(text)
  return isAlone() ? verifyHere(publicKey, bytes, signature) : verifyOnPool(publicKey, bytes, signature)
}

/**
 * Decides where a verification runs. A single one is faster on the calling thread, which saves the hand-over.
 * Several are faster on the thread pool, which uses the other cores. If the previous burst had several, the
 * first of the next burst also goes to the pool.
 */
function isAlone(): boolean {
  if (pending > 0) return false
  const wereSeveral = most > 1
  most = 0
  return !wereSeveral
}

function verifyHere(publicKey: KeyObject, bytes: Buffer, signature: Buffer): boolean {
  count()
  // Counted until the event-loop turn ends, so that requests which arrive together count as a burst.
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
