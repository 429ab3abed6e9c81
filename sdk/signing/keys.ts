/**
 * Ed25519 key pairs: generate, export, import, fingerprint.
 *
 * - A public key travels as base64url of its 32 raw bytes, 43 characters, in its one canonical spelling.
 * - Keys that could verify what nobody signed are refused here, since Node imports them all: a y that is not reduced,
 *   and the points of small order (one proof fits every text). Only recent versions of Node refuse to verify with them.
 * - The private key is PKCS#8 PEM at rest and a KeyObject in memory; no error holds any of it.
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

/** A text that is no usable Ed25519 key. The message says why and never repeats the text. */
export class KeyError extends Error {
  override readonly name = 'KeyError'
}

/** An Ed25519 key pair: the public half as it travels, the private half as a KeyObject. */
export interface KeyPair {
  readonly publicKey: string
  readonly privateKey: KeyObject
}

/** 256 bits: the last of 43 characters carries four of them and two zeros. */
const publicKeyForm = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

const fieldPrime = 2n ** 255n - 19n

/** The y of every point whose order divides 8. Each stands with either sign of x. */
const smallOrderYs: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  fieldPrime - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
])

/** A new key pair. The private half is kept by {@link exportPrivateKey}. */
export function generateKeyPair(): KeyPair {
  const { privateKey } = generateKeyPairSync('ed25519')
  return { publicKey: publicKeyOf(privateKey), privateKey }
}

/** The public half, as it travels. */
export function publicKeyOf(privateKey: KeyObject): string {
  const { crv, x } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (crv !== 'Ed25519' || x === undefined) throw new KeyError('the private key is not an Ed25519 key')
  return x
}

/** PKCS#8 PEM. The file that holds it is 0600. */
export const exportPrivateKey = (privateKey: KeyObject): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** @throws KeyError when the text is not the PEM of an unencrypted Ed25519 private key. */
export function importPrivateKey(pem: string): KeyObject {
  const key = parsePrivateKey(pem)
  if (key.asymmetricKeyType !== 'ed25519') throw new KeyError('the private key is not an Ed25519 key')
  return key
}

/** @throws KeyError for a wrong length, a second spelling, a y that is not reduced, or a point of small order. */
export function importPublicKey(publicKey: string): KeyObject {
  const bytes = rawBytes(publicKey)
  const y = littleEndian(bytes) & (2n ** 255n - 1n)
  // "The verifier rejects small-order and non-canonical keys."
  if (y >= fieldPrime) throw new KeyError('the public key is not canonical: y is not reduced')
  if (smallOrderYs.has(y)) throw new KeyError('the public key is a point of small order')
  const input: JsonWebKeyInput = { key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' }
  return createPublicKey(input)
}

/** What people compare: `SHA256:` and the unpadded base64 hash of the 32 raw bytes. @throws KeyError as a malformed key does. */
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
    // OpenSSL's error is dropped: it names internals, and nothing of the text may reach a log.
    throw new KeyError('the private key is not an unencrypted PKCS#8 PEM')
  }
}

const littleEndian = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
