import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generateKeyPair, importPublicKey } from '../../../sdk/signing/keys.ts'
import { decodeProof, sign, verify } from '../../../sdk/signing/proof.ts'
import { strayBits } from '../../vectors/signing-source/odd-proofs.ts'
import { publicKey } from '../../vectors/signing-source/vector.ts'
import { judge, rfc9421Key, sdkText, vectorNamed } from '../../vectors/vectors.ts'
import { satisfiesEquation } from './curve.ts'

const rfcPublicKey = importPublicKey(publicKey)

test('a proof is 86 characters that its own key verifies and another key does not', async () => {
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

test('only the canonical encoding of 64 bytes decodes', () => {
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

test('verifying a proof of a wrong form returns false and does not throw', async () => {
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
])('the proof of %s satisfies the equation, so only a strict verifier refuses it', async (name) => {
  const vector = vectorNamed(name)
  const key = vector.identity?.public_key ?? ''
  const text = Buffer.from(sdkText(vector))
  expect(satisfiesEquation(key, text, vector.proof ?? '')).toBe(true)
  expect(satisfiesEquation(key, text, sign(generateKeyPair().privateKey, 'a text'))).toBe(false)
  expect(await judge(vector)).toBe('signature_invalid')
})

test('flipping any bit of the text or the proof makes verification fail', async () => {
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

test('of the verifications of one turn, one runs synchronously and the others on the thread pool, all correctly', async () => {
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

test('after several simultaneous verifications the next one uses the thread pool too, and the one after it does not', async () => {
  await aloneAgain()
  const proof = sign(rfc9421Key, 'a text')
  const verifying = () => verify(rfcPublicKey, 'a text', proof)
  expect(await Promise.all([verifying(), verifying()])).toEqual([true, true])
  for (const isAtOnce of [false, true]) {
    await turnOver()
    expect(await settlesAtOnce(verifying())).toBe(isAtOnce)
  }
})

test('a key that cannot verify causes an error in both ways, and occupies no slot in the queue', async () => {
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

/** Waits until the last verification counts as single. */
async function aloneAgain(): Promise<void> {
  await turnOver()
  await verify(rfcPublicKey, 'a text', sign(rfc9421Key, 'a text'))
  await turnOver()
}

/** Runs microtasks, which run before the event loop can receive a result from the pool. */
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
