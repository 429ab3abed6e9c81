import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateKeyPair, importPublicKey } from '../../../sdk/signing/keys.ts'
import { decodeProof, sign, verify } from '../../../sdk/signing/proof.ts'
import { strayBits } from '../../vectors/signing-source/odd-proofs.ts'
import { publicKey } from '../../vectors/signing-source/vector.ts'
import { satisfiesEquation } from './curve.ts'
import { judge, rfc9421Key, sdkText, vectorNamed } from './vectors.ts'

const rfcPublicKey = importPublicKey(publicKey)

test('a proof is 86 characters that its own key verifies and another does not', async () => {
  const ada = generateKeyPair()
  const ben = generateKeyPair()
  const proof = sign(ada.privateKey, 'a text')
  expect(proof).toMatch(/^[A-Za-z0-9_-]{86}$/)
  expect(await verify(importPublicKey(ada.publicKey), 'a text', proof)).toBe(true)
  expect(await verify(importPublicKey(ben.publicKey), 'a text', proof)).toBe(false)
  expect(await verify(importPublicKey(ada.publicKey), 'a texT', proof)).toBe(false)
})

test('signing is deterministic', () => {
  expect(sign(rfc9421Key, 'a text')).toBe(sign(rfc9421Key, 'a text'))
})

test('only the canonical spelling of 64 bytes decodes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), (bytes) => {
      const proof = Buffer.from(bytes).toString('base64url')
      expect(decodeProof(proof)).toEqual(Buffer.from(bytes))
      for (const other of [
        strayBits(proof),
        `${proof}==`,
        `${proof}A`,
        proof.slice(1),
        ` ${proof}`,
        `${proof}\n`,
      ]) {
        expect(decodeProof(other), other).toBeUndefined()
      }
    }),
  )
  expect(decodeProof('')).toBeUndefined()
})

test('a proof of a wrong form is false, not an error', async () => {
  const proof = sign(rfc9421Key, 'a text')
  expect(await verify(rfcPublicKey, 'a text', strayBits(proof))).toBe(false)
  expect(await verify(rfcPublicKey, 'a text', '')).toBe(false)
})

test.each([
  'proof-s-plus-l',
  'proof-r-not-canonical',
  'key-identity',
  'key-identity-with-sign',
  'key-not-canonical',
])('the proof of %s satisfies the equation, so that only strictness refuses it', async (name) => {
  const vector = vectorNamed(name)
  const key = vector.identity?.public_key ?? ''
  const text = Buffer.from(sdkText(vector))
  expect(satisfiesEquation(key, text, vector.proof ?? '')).toBe(true)
  expect(satisfiesEquation(key, text, sign(generateKeyPair().privateKey, 'a text'))).toBe(false)
  expect(await judge(vector)).toBe('signature_invalid')
})

test('flipping any bit of the text or the proof makes it false', async () => {
  const proof = sign(rfc9421Key, 'a text that is signed')
  const inText = fc.record({ byte: fc.nat(20), bit: fc.nat(6) })
  await fc.assert(
    fc.asyncProperty(inText, async ({ byte, bit }) => {
      const bytes = Buffer.from('a text that is signed')
      bytes.writeUInt8(bytes.readUInt8(byte) ^ (1 << bit), byte)
      expect(await verify(rfcPublicKey, bytes.toString('latin1'), proof)).toBe(false)
    }),
  )
  await fc.assert(
    fc.asyncProperty(fc.nat(63), fc.nat(7), async (byte, bit) => {
      const bytes = Buffer.from(proof, 'base64url')
      bytes.writeUInt8(bytes.readUInt8(byte) ^ (1 << bit), byte)
      expect(await verify(rfcPublicKey, 'a text that is signed', bytes.toString('base64url'))).toBe(false)
    }),
  )
})

test('one verification of a turn is made at once and the rest on the thread pool, all with the right answer', async () => {
  await aloneAgain()
  const proof = sign(rfc9421Key, 'a text')
  const settled: boolean[] = []
  const asked = ['a text', 'another', 'a text', 'another', 'a text'].map(async (text) => {
    const valid = await verify(rfcPublicKey, text, proof)
    settled.push(valid)
    return valid
  })
  await microtasks()
  expect(settled).toEqual([true])
  expect(await Promise.all(asked)).toEqual([true, false, true, false, true])
})

test('after several at once the next goes to the thread pool too, and the one after it does not', async () => {
  await aloneAgain()
  const proof = sign(rfc9421Key, 'a text')
  const verifying = () => verify(rfcPublicKey, 'a text', proof)
  expect(await Promise.all([verifying(), verifying()])).toEqual([true, true])
  for (const isAtOnce of [false, true]) {
    await turnOver()
    expect(await settlesAtOnce(verifying())).toBe(isAtOnce)
  }
})

test('a key that cannot verify is an error on either way, and takes no place in the queue', async () => {
  await aloneAgain()
  const { publicKey: exchangeKey } = generateKeyPairSync('x25519')
  const proof = sign(rfc9421Key, 'a text')
  const asked = Array.from({ length: 6 }, () => verify(exchangeKey, 'a text', proof))
  const outcomes = await Promise.allSettled(asked)
  expect(outcomes.map(({ status }) => status)).toEqual(Array(6).fill('rejected'))

  await aloneAgain()
  expect(await settlesAtOnce(verify(rfcPublicKey, 'a text', proof))).toBe(true)
})

const turnOver = () => new Promise((resolve) => setImmediate(resolve))

/** Whatever was verified before came alone. */
async function aloneAgain(): Promise<void> {
  await turnOver()
  await verify(rfcPublicKey, 'a text', sign(rfc9421Key, 'a text'))
  await turnOver()
}

/** Microtasks run before the event loop can take a result from the pool. */
async function microtasks(): Promise<void> {
  for (let tick = 0; tick < 20; tick += 1) await Promise.resolve()
}

async function settlesAtOnce(verification: Promise<boolean>): Promise<boolean> {
  let isSettled = false
  const settled = verification.then(() => {
    isSettled = true
  })
  await microtasks()
  const wasAtOnce = isSettled
  await settled
  return wasAtOnce
}
