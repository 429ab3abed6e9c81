/**
 * Password hashes: scrypt with N=2^17, r=8, p=1, stored as a PHC string.
 *
 * Each hash takes 128 MiB, so a limiter runs at most two at a time for sign-ins, with a queue of eight.
 * Further sign-ins are refused. People who are signed in have a separate limiter with one slot, which
 * strangers cannot fill. An unknown name is checked against a dummy with the same work.
 *
 * Contract §10 "Sign-in".
 */
import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'

const saltBytes = 16
const hashBytes = 32

/** log2 of scrypt's N. */
const realCost = 17
const maxBytes = 192 * 1024 * 1024

/** The limiter of a hash: for sign-in and setup, or for people who are signed in. */
export type LimiterName = 'signing in' | 'signed in'

const maxQueued = 8

/** The password hashing of one server, with its limiters. */
export interface Passwords {
  /** Returns a new PHC string. @throws rate_limited if the queue is full */
  hash(password: string, limiter?: LimiterName): Promise<string>
  /**
   * Checks a password. If `stored` is undefined, the work is the same and the result false. @throws
   * rate_limited if the queue is full
   */
  matches(password: string, stored: string | undefined, limiter: LimiterName): Promise<boolean>
}

/** `cost` is lower in tests that do not test hashing: a real hash takes a third of a second. */
export function createPasswords(random: (bytes: number) => Buffer, cost = realCost): Passwords {
  const derive = createLimiters()
  const dummy = phc(cost, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))
  return {
    async hash(password, limiter = 'signing in') {
      const salt = random(saltBytes)
      return phc(cost, salt, await derive(password, salt, cost, limiter))
    },
    async matches(password, stored, limiter) {
      const [, , parameters = '', salt = '', hash = ''] = (stored ?? dummy).split('$')
      const logN = Number(/^ln=(\d+),r=8,p=1$/.exec(parameters)?.[1])
      const key = await derive(password, Buffer.from(salt, 'base64'), logN, limiter)
      const expected = Buffer.from(hash, 'base64')
      return expected.length === key.length && timingSafeEqual(key, expected) && stored !== undefined
    },
  }
}

type Derive = (password: string, salt: Buffer, logN: number, limiter: LimiterName) => Promise<Buffer>

function createLimiters(): Derive {
  const limiters = {
    'signing in': { slots: 2, running: 0, waiting: [] as (() => void)[] },
    'signed in': { slots: 1, running: 0, waiting: [] as (() => void)[] },
  }
  return async (password, salt, logN, name) => {
    const limiter = limiters[name]
    if (limiter.running >= limiter.slots) {
      if (limiter.waiting.length >= maxQueued)
        throw new ApiError('rate_limited', { retryAfterMs: retryAfterMs.passwords })
      await new Promise<void>((resolve) => limiter.waiting.push(resolve))
    }
    limiter.running += 1
    try {
      return await run(password, salt, logN)
    } finally {
      limiter.running -= 1
      limiter.waiting.shift()?.()
    }
  }
}

function run(password: string, salt: Buffer, logN: number): Promise<Buffer> {
  const cost = { N: 2 ** logN, r: 8, p: 1, maxmem: maxBytes } satisfies ScryptOptions
  return new Promise((resolve, reject) => {
    scrypt(password, salt, hashBytes, cost, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
const phc = (logN: number, salt: Buffer, key: Buffer) =>
  `$scrypt$ln=${logN},r=8,p=1$${unpadded(salt)}$${unpadded(key)}`
