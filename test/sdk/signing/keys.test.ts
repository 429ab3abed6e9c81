import { createHash, generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import {
  exportPrivateKey,
  fingerprint,
  generateKeyPair,
  importPrivateKey,
  importPublicKey,
  KeyError,
  publicKeyOf,
} from '../../../sdk/signing/keys.ts'
import { sign, verify } from '../../../sdk/signing/proof.ts'
import { decode, encodingsOf, hexOf, multiply, prime } from './curve.ts'

const rfcPublicKey = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs'

/**
 * Every encoding of a point whose order divides 8: eight canonical ones, then those with a second encoding.
 */
const smallOrder = {
  'order 1': '0100000000000000000000000000000000000000000000000000000000000000',
  'order 2': 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'order 4': '0000000000000000000000000000000000000000000000000000000000000000',
  'order 4, other sign': '0000000000000000000000000000000000000000000000000000000000000080',
  'order 8': '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'order 8, other sign': '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'order 8, other y': 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'order 8, other y and sign': 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  'order 1, sign of zero': '0100000000000000000000000000000000000000000000000000000000000080',
  'order 2, sign of zero': 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'order 1, y + p': 'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'order 1, y + p, sign of zero': 'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'order 4, y + p': 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'order 4, y + p, other sign': 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
}

const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')

test.each(Object.entries(smallOrder))('the point of small order "%s" is refused', (_name, hex) => {
  expect(() => importPublicKey(base64url(hex))).toThrow(KeyError)
})

test('the list of small-order encodings is complete for the curve', () => {
  const generator = decode(smallOrder['order 8'])
  const points = Array.from({ length: 8 }, (_, scalar) => multiply(BigInt(scalar), generator))
  expect(multiply(8n, generator)).toEqual([0n, 1n])
  const encodings = points.flatMap(encodingsOf)
  expect(encodings.sort()).toEqual(Object.values(smallOrder).sort())
})

test('every y that is not reduced is refused, with either sign', () => {
  for (let y = prime; y < 2n ** 255n; y += 1n) {
    for (const sign of [0n, 1n]) {
      expect(() => importPublicKey(base64url(hexOf(y + (sign << 255n)))), `y = p + ${y - prime}`).toThrow(
        KeyError,
      )
    }
  }
})

test('a key has exactly one encoding of 43 characters', () => {
  expect(importPublicKey(rfcPublicKey).asymmetricKeyType).toBe('ed25519')
  const strayBits = `${rfcPublicKey.slice(0, -1)}t`
  expect(Buffer.from(strayBits, 'base64url')).toEqual(Buffer.from(rfcPublicKey, 'base64url'))
  for (const other of [
    strayBits,
    '',
    rfcPublicKey.slice(1),
    `${rfcPublicKey}A`,
    `${rfcPublicKey}=`,
    `${rfcPublicKey}\n`,
    rfcPublicKey.replace('_', '/').replace('-', '+'),
    Buffer.alloc(31, 7).toString('base64url'),
    Buffer.alloc(33, 7).toString('base64url'),
  ]) {
    expect(() => importPublicKey(other), other).toThrow(KeyError)
    expect(() => fingerprint(other), other).toThrow(KeyError)
  }
})

test('generated keys are different, can be imported, and verify their signatures', async () => {
  const ada = generateKeyPair()
  const ben = generateKeyPair()
  expect(ada.publicKey).not.toBe(ben.publicKey)
  expect(ada.publicKey).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(await verify(importPublicKey(ada.publicKey), 'a text', sign(ada.privateKey, 'a text'))).toBe(true)
})

test('a private key is unchanged after export and import', () => {
  const { publicKey, privateKey } = generateKeyPair()
  const pem = exportPrivateKey(privateKey)
  expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
  expect(publicKeyOf(importPrivateKey(pem))).toBe(publicKey)
})

test('a private key of another kind, encrypted, or damaged is refused, and the error reveals nothing of it', () => {
  const pem = exportPrivateKey(generateKeyPair().privateKey)
  const exchange = generateKeyPairSync('x25519').privateKey
  const encrypted = generateKeyPairSync('ed25519')
    .privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    .toString()
  for (const other of [
    exportPrivateKey(exchange),
    encrypted,
    pem.replace(/[A-Z]{2}/g, '!!'),
    '',
    rfcPublicKey,
  ]) {
    const refusal = refusalOf(() => importPrivateKey(other))
    expect(refusal).toBeInstanceOf(KeyError)
    const secretLine = other.split('\n')[1]
    if (secretLine) expect(inspect(refusal)).not.toContain(secretLine)
  }
  expect(() => publicKeyOf(exchange)).toThrow(KeyError)
})

test('a fingerprint is the unpadded base64 hash of the raw bytes', () => {
  const hash = createHash('sha256').update(Buffer.from(rfcPublicKey, 'base64url')).digest('base64')
  expect(fingerprint(rfcPublicKey)).toBe(`SHA256:${hash.replace('=', '')}`)
  expect(fingerprint(rfcPublicKey)).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
  expect(fingerprint(generateKeyPair().publicKey)).not.toBe(fingerprint(rfcPublicKey))
})

function refusalOf(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}
