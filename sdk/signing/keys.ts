/**
 * Ed25519 key pairs: generate, export, import, fingerprint.
 *
 * - A public key is sent as canonical base64url of its 32 raw bytes: 43 characters.
 * - `importPublicKey` refuses keys that would verify forged signatures: a y that is not reduced, and points
 *   of small order (one proof fits every text). Node imports both, and older versions of Node also verify
 *   with them.
 * - The private key is PKCS#8 PEM at rest and a KeyObject in memory. No error message contains any part of
 *   it.
 *
 * Contract §3, "the verifier rejects small-order and non-canonical keys".
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto'

/**
 * Error for a text that is not a usable Ed25519 key. The message gives the reason and never repeats the text.
 */
export class KeyError extends Error {
  override readonly name = 'KeyError'
}

/** Ed25519 key pair: the public key as base64url (43 characters), the private key as a KeyObject. */
export interface KeyPair {
  readonly publicKey: string
  readonly privateKey: KeyObject
}

/** Canonical base64url of 256 bits: the last of the 43 characters holds four bits and two zeros. */
const publicKeyForm = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

const fieldPrime = 2n ** 255n - 19n

/** The y coordinates of all points whose order divides 8, for both signs of x. */
const smallOrderYs: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  fieldPrime - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
])

/** Generates a key pair. Use {@link exportPrivateKey} to store the private key. */
export function generateKeyPair(): KeyPair {
  const { privateKey } = generateKeyPairSync('ed25519')
  return { publicKey: publicKeyOf(privateKey), privateKey }
}

/** Returns the public key of a private key, as base64url. @throws KeyError if it is not an Ed25519 key. */
export function publicKeyOf(privateKey: KeyObject): string {
  const { crv, x } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (crv !== 'Ed25519' || x === undefined) throw new KeyError('the private key is not an Ed25519 key')
  return x
}

/** Returns the private key as PKCS#8 PEM. Store it in a file with mode 0600. */
export const exportPrivateKey = (privateKey: KeyObject): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** Parses a private key. @throws KeyError if the text is not the PEM of an unencrypted Ed25519 private key. */
export function importPrivateKey(pem: string): KeyObject {
  const key = parsePrivateKey(pem)
  if (key.asymmetricKeyType !== 'ed25519') throw new KeyError('the private key is not an Ed25519 key')
  return key
}

/**
 * Parses a public key.
 *
 * @throws KeyError for a wrong length, a non-canonical spelling, a y that is not reduced, or a point of small
 * order.
 */
export function importPublicKey(publicKey: string): KeyObject {
  const bytes = rawBytes(publicKey)
  const y = littleEndian(bytes) & (2n ** 255n - 1n)
  // "The verifier rejects small-order and non-canonical keys."
  if (y >= fieldPrime) throw new KeyError('the public key is not canonical: y is not reduced')
  if (smallOrderYs.has(y)) throw new KeyError('the public key is a point of small order')
  const input: JsonWebKeyInput = { key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' }
  return createPublicKey(input)
}

/**
 * Returns the fingerprint that people compare: `SHA256:` and the unpadded base64 hash of the 32 raw bytes.
 *
 * @throws KeyError if malformed.
 */
export const fingerprint = (publicKey: string): string =>
  `SHA256:${hash('sha256', rawBytes(publicKey), 'base64').replace(/=+$/, '')}`

function rawBytes(publicKey: string): Buffer {
  if (!publicKeyForm.test(publicKey)) {
    throw new KeyError('a public key is 43 characters of canonical base64url (32 bytes)')
  }
  return Buffer.from(publicKey, 'base64url')
}

function parsePrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey({ key: pem, format: 'pem' })
  } catch {
    // The error of OpenSSL is dropped: it names internals, and no part of the key text may reach a log.
    throw new KeyError('the private key is not an unencrypted PKCS#8 PEM')
  }
}

const littleEndian = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
