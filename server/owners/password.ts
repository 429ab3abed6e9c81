/**
 * Passwords at rest: scrypt with N=2^17, r=8, p=1, written as a PHC string.
 *
 * Each run takes 128 MiB, so at most two run at a time and few may queue: a flood of sign-ins is refused, not served.
 * An unknown name costs the same run against a dummy.
 *
 * Contract §10 "Sign-in".
 */
import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { limits } from '../../sdk/contract/limits.ts'
import { Fault } from '../fault.ts'

const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 192 * 1024 * 1024 } as const satisfies ScryptOptions
const saltBytes = 16
const hashBytes = 32
const atOnce = 2
const queued = 8

let running = 0
const waiting: (() => void)[] = []

/** @throws rate_limited when too many are queued already */
async function derive(password: string, salt: Buffer): Promise<Buffer> {
  if (running >= atOnce) {
    if (waiting.length >= queued) throw new Fault('rate_limited', { retryAfterMs: 2000 })
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  running += 1
  try {
    return await new Promise((resolve, reject) => {
      scrypt(password, salt, hashBytes, cost, (error, key) => (error ? reject(error) : resolve(key)))
    })
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}

const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')

export async function hashPassword(password: string, random: (bytes: number) => Buffer): Promise<string> {
  const salt = random(saltBytes)
  const key = await derive(password, salt)
  return `$scrypt$ln=17,r=8,p=1$${unpadded(salt)}$${unpadded(key)}`
}

/** `stored` undefined: nobody has this name; the same work is done all the same. */
export async function passwordMatches(password: string, stored: string | undefined): Promise<boolean> {
  const [, , , salt = '', hash = ''] = (stored ?? dummy).split('$')
  const key = await derive(password, Buffer.from(salt, 'base64'))
  const expected = Buffer.from(hash, 'base64')
  return expected.length === key.length && timingSafeEqual(key, expected) && stored !== undefined
}

const dummy = `$scrypt$ln=17,r=8,p=1$${unpadded(Buffer.alloc(saltBytes))}$${unpadded(Buffer.alloc(hashBytes))}`

/** @throws invalid_request naming the rule */
export function requireStrength(password: string, field: string): void {
  const length = [...password].length
  const { min, max } = limits.password
  if (length >= min && length <= max) return
  const problem = `must have ${min} to ${max} characters`
  throw new Fault('invalid_request', {
    message: `body/${field} ${problem}.`,
    details: { faults: [{ path: `body/${field}`, problem }] },
  })
}
