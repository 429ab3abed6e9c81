/**
 * `X-Bridge-Device`: encode and parse, side by side.
 *
 * - A JSON object with exactly `os`, `machine` and `install`, each once, each a non-empty string of printable ASCII.
 * - The header is printable ASCII, at most 300 characters. Spacing and order of the keys are the sender's: what is
 *   signed and stored is the string itself, byte for byte.
 *
 * Interface §4.1; contract §3.
 */
import { headerRules } from '../contract/headers.ts'

/** The machine that a device-bound identity names in each request. */
export interface Device {
  readonly os: string
  /** A hash that names the machine; the raw machine id never leaves it. */
  readonly machine: string
  /** UUID of the installation. */
  readonly install: string
}

const printable = /^[\x20-\x7e]+$/
const stringToken = /"(?:[^"\\]|\\.)*"/g

/** The header's value. @throws TypeError when {@link parseDevice} would refuse it. */
export function encodeDevice({ os, machine, install }: Device): string {
  const text = JSON.stringify({ os, machine, install })
  if (parseDevice(text) === undefined) {
    throw new TypeError(
      'a device is three non-empty strings of printable ASCII, at most 300 characters as JSON',
    )
  }
  return text
}

/** The device that the header names, or undefined when the text is not of this form. */
export function parseDevice(text: string): Device | undefined {
  if (!headerRules.device.test(text)) return undefined
  const value = parseObject(text)
  if (value === undefined || Object.keys(value).length !== 3) return undefined
  // JSON.parse keeps the last of two equal keys. Three members of strings are six string tokens, and no more.
  if (text.match(stringToken)?.length !== 6) return undefined
  const { os, machine, install } = value
  return isName(os) && isName(machine) && isName(install) ? { os, machine, install } : undefined
}

const isName = (value: unknown): value is string => typeof value === 'string' && printable.test(value)

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    // Not JSON: the same answer as JSON of another shape.
    return undefined
  }
}
