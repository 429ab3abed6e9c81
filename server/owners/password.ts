/**
 * Passwords at rest: scrypt with N=2^17, r=8, p=1, written as a PHC string.
 *
 * Each run takes 128 MiB, so at most two run at a time and few may queue: a flood of sign-ins is refused, not served.
 * Who is signed in already stands in a line of their own, which strangers cannot fill.
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

/** Who waits for a run: strangers who sign in or set up, or people who are signed in. */
export type Line = 'strangers' | 'signed in'

const queued = 8
const lines = {
  strangers: { atOnce: 2, running: 0, waiting: [] as (() => void)[] },
  'signed in': { atOnce: 1, running: 0, waiting: [] as (() => void)[] },
}

/** @throws rate_limited when too many are queued already */
async function derive(password: string, salt: Buffer, name: Line): Promise<Buffer> {
  const line = lines[name]
  if (line.running >= line.atOnce) {
    if (line.waiting.length >= queued) throw new Fault('rate_limited', { retryAfterMs: 2000 })
    await new Promise<void>((resolve) => line.waiting.push(resolve))
  }
  line.running += 1
  try {
    return await new Promise((resolve, reject) => {
      scrypt(password, salt, hashBytes, cost, (error, key) => (error ? reject(error) : resolve(key)))
    })
  } finally {
    line.running -= 1
    line.waiting.shift()?.()
  }
}

const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')

export async function hashPassword(
  password: string,
  random: (bytes: number) => Buffer,
  line: Line = 'strangers',
): Promise<string> {
  const salt = random(saltBytes)
  const key = await derive(password, salt, line)
  return `$scrypt$ln=17,r=8,p=1$${unpadded(salt)}$${unpadded(key)}`
}

/** `stored` undefined: nobody has this name; the same work is done all the same. */
export async function passwordMatches(
  password: string,
  stored: string | undefined,
  line: Line,
): Promise<boolean> {
  const [, , , salt = '', hash = ''] = (stored ?? dummy).split('$')
  const key = await derive(password, Buffer.from(salt, 'base64'), line)
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
