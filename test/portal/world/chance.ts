/** Bytes and key pairs that are the same in every run, so that a picture of the page is too. */
import { createHash, createPrivateKey } from 'node:crypto'
import { type KeyPair, publicKeyOf } from '../../../sdk/signing/keys.ts'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Returns a source of bytes that begins anew for each world. */
export function sameBytes(): (count: number) => Buffer {
  let drawn = 0
  return (count) => {
    const blocks = Array.from({ length: Math.ceil(count / 32) }, () => {
      drawn += 1
      return digest(`bytes ${drawn}`)
    })
    return Buffer.concat(blocks).subarray(0, count)
  }
}

/** PKCS#8 of an Ed25519 key, before its 32 bytes. */
const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

export function keyPairOf(name: string): KeyPair {
  const key = Buffer.concat([prefix, digest(`key of ${name}`)])
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  return { publicKey: publicKeyOf(privateKey), privateKey }
}
