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
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'

const saltBytes = 16
const hashBytes = 32

/** log2 of scrypt's N. */
const realCost = 17
const maxBytes = 192 * 1024 * 1024

/** Who waits for a run: strangers who sign in or set up, or people who are signed in. */
export type Line = 'strangers' | 'signed in'

const queued = 8

/** The passwords of one server, and the lines of those that are being checked. */
export interface Passwords {
  /** A new PHC string. @throws rate_limited when too many are queued already */
  hash(password: string, line?: Line): Promise<string>
  /** `stored` undefined: nobody has this name; the same work is done all the same. @throws rate_limited as `hash` */
  matches(password: string, stored: string | undefined, line: Line): Promise<boolean>
}

/** `cost` is for tests that are not about it: a run of the real one takes a third of a second. */
export function createPasswords(random: (bytes: number) => Buffer, cost = realCost): Passwords {
  const derive = createLines()
  const dummy = phc(cost, Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))
  return {
    async hash(password, line = 'strangers') {
      const salt = random(saltBytes)
      return phc(cost, salt, await derive(password, salt, cost, line))
    },
    async matches(password, stored, line) {
      const [, , parameters = '', salt = '', hash = ''] = (stored ?? dummy).split('$')
      const logN = Number(/^ln=(\d+),r=8,p=1$/.exec(parameters)?.[1])
      const key = await derive(password, Buffer.from(salt, 'base64'), logN, line)
      const expected = Buffer.from(hash, 'base64')
      return expected.length === key.length && timingSafeEqual(key, expected) && stored !== undefined
    },
  }
}

type Derive = (password: string, salt: Buffer, logN: number, line: Line) => Promise<Buffer>

function createLines(): Derive {
  const lines = {
    strangers: { atOnce: 2, running: 0, waiting: [] as (() => void)[] },
    'signed in': { atOnce: 1, running: 0, waiting: [] as (() => void)[] },
  }
  return async (password, salt, logN, name) => {
    const line = lines[name]
    if (line.running >= line.atOnce) {
      if (line.waiting.length >= queued)
        throw new ApiError('rate_limited', { retryAfterMs: retryAfterMs.passwords })
      await new Promise<void>((resolve) => line.waiting.push(resolve))
    }
    line.running += 1
    try {
      return await run(password, salt, logN)
    } finally {
      line.running -= 1
      line.waiting.shift()?.()
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
