/**
 * The curve of Ed25519 in affine coordinates, −x² + y² = 1 + d x² y² modulo p, and a verifier that accepts
 * every encoding.
 *
 * It shows that an unusual proof fails only for its encoding: the equation holds, and only a strict verifier
 * refuses it. Slow and not constant-time. RFC 8032, section 5.1.
 */
import { createHash } from 'node:crypto'

export type Point = readonly [x: bigint, y: bigint]

export const prime = 2n ** 255n - 19n
const order = 2n ** 252n + 27742317777372353535851937790883648493n

const modulo = (value: bigint): bigint => ((value % prime) + prime) % prime

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let [factor, rest] = [modulo(base), exponent]; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = modulo(result * factor)
    factor = modulo(factor * factor)
  }
  return result
}

const inverse = (value: bigint): bigint => power(value, prime - 2n)
const d = modulo(-121665n * inverse(121666n))

const littleEndian = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** A value as 32 bytes in hex. */
export const hexOf = (value: bigint): string =>
  Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse().toString('hex')

/** The point of an encoding. The y is reduced, and the sign of a zero x is ignored. */
export function decode(hex: string): Point {
  const value = littleEndian(Buffer.from(hex, 'hex'))
  const y = modulo(value & (2n ** 255n - 1n))
  const square = modulo((y * y - 1n) * inverse(d * y * y + 1n))
  const root = power(square, (prime + 3n) / 8n)
  const x = modulo(root * root) === square ? root : modulo(root * power(2n, (prime - 1n) / 4n))
  if (modulo(x * x) !== square) throw new Error(`${hex} is not on the curve`)
  return [(x & 1n) === value >> 255n ? x : modulo(-x), y]
}

/** Every encoding of a point: y or y + p, and either sign if x is zero. */
export function encodingsOf([x, y]: Point): string[] {
  const ys = [y, y + prime].filter((value) => value < 2n ** 255n)
  const signs = x === 0n ? [0n, 1n] : [x & 1n]
  return ys.flatMap((value) => signs.map((sign) => hexOf(value + (sign << 255n))))
}

export function add([x1, y1]: Point, [x2, y2]: Point): Point {
  const product = modulo(d * x1 * x2 * y1 * y2)
  return [
    modulo((x1 * y2 + x2 * y1) * inverse(1n + product)),
    modulo((y1 * y2 + x1 * x2) * inverse(1n - product)),
  ]
}

export function multiply(scalar: bigint, point: Point): Point {
  let result: Point = [0n, 1n]
  for (let [addend, rest] = [point, scalar]; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = add(result, addend)
    addend = add(addend, addend)
  }
  return result
}

/** Whether S·B = R + k·A as points, without any check of encoding, range or order. */
export function satisfiesEquation(publicKey: string, text: Buffer, proof: string): boolean {
  const key = Buffer.from(publicKey, 'base64url')
  const signature = Buffer.from(proof, 'base64url')
  const r = signature.subarray(0, 32)
  const challenge = littleEndian(createHash('sha512').update(r).update(key).update(text).digest()) % order
  const left = multiply(littleEndian(signature.subarray(32)), decode(`58${'66'.repeat(31)}`))
  const right = add(decode(r.toString('hex')), multiply(challenge, decode(key.toString('hex'))))
  return left[0] === right[0] && left[1] === right[1]
}
