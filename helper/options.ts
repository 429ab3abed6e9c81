/**
 * Options of the helper: six flags and one environment variable.
 *
 * - `--end-with-input` is for a program that starts the helper. The helper then ends when its standard input
 *   ends, and so together with that program.
 * - `--json` and `--profile` have no effect. They are accepted because every command of `bridge` accepts
 *   them.
 *
 * Spec §4.5, Startup options; §8.
 */
import { parseArgs } from 'node:util'
import { transferLimits } from '../sdk/contract/helper/limits.ts'
import { StartError } from './start-failure.ts'

export interface HelperOptions {
  readonly manifest: string
  readonly root: string
  readonly port: number
  readonly ttlSeconds: number
  readonly maxBytes: number
  /** Whether the helper ends when standard input ends. */
  readonly endsWithInput?: boolean
  readonly token: string
}

const flags = {
  manifest: { type: 'string', multiple: true },
  root: { type: 'string', multiple: true },
  port: { type: 'string', multiple: true },
  ttl: { type: 'string', multiple: true },
  'max-bytes': { type: 'string', multiple: true },
  'end-with-input': { type: 'boolean' },
  json: { type: 'boolean' },
  profile: { type: 'string' },
} as const

/** @throws StartError `invalid_options`, `invalid_token` */
export function readOptions(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): HelperOptions {
  const values = parsed(args)
  const { fileBytes, ttlSeconds } = transferLimits
  return {
    manifest: text(values.manifest),
    root: text(values.root),
    port: whole(values.port, { min: 0, max: 65_535, fallback: 0 }),
    ttlSeconds: whole(values.ttl, { min: 1, max: ttlSeconds.max, fallback: ttlSeconds.default }),
    maxBytes: whole(values['max-bytes'], { min: 0, max: fileBytes.max, fallback: fileBytes.default }),
    ...(values['end-with-input'] === true && { endsWithInput: true }),
    token: tokenOf(environment),
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags, strict: true, allowPositionals: false }).values
  } catch (cause) {
    throw new StartError('invalid_options', { cause })
  }
}

type Given = readonly string[] | undefined

function text(given: Given): string {
  const [value, ...more] = given ?? []
  if (value === undefined || value === '' || value.includes('\0') || more.length > 0) {
    throw new StartError('invalid_options')
  }
  return value
}

function whole(given: Given, { min, max, fallback }: { min: number; max: number; fallback: number }): number {
  if (given === undefined) return fallback
  const value = text(given)
  const number = /^(0|[1-9]\d{0,11})$/.test(value) ? Number(value) : Number.NaN
  if (number >= min && number <= max) return number
  throw new StartError('invalid_options')
}

/**
 * Reads the token: "fresh and random at 256 bits, encoded in 43 to 128 URL-safe characters". Removes it from
 * the environment, so that child processes do not inherit it.
 */
function tokenOf(environment: NodeJS.ProcessEnv): string {
  const token = environment.SERVICE_TRANSFER_TOKEN ?? ''
  delete environment.SERVICE_TRANSFER_TOKEN
  if (!/^[A-Za-z0-9_-]{43,128}$/.test(token)) throw new StartError('invalid_token')
  return token
}
