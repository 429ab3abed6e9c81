/**
 * Encoding and parsing of the `X-Bridge-Device` header.
 *
 * - It is a JSON object with exactly `os`, `machine` and `install`, each a non-empty string of printable
 *   ASCII.
 * - The header is printable ASCII, at most 300 characters. The sender chooses spacing and key order: the
 *   string itself is signed and stored, byte for byte.
 *
 * Interface §4.1; contract §3.
 */
import { headerRules } from '../contract/headers.ts'

/** Machine that a device-bound agent names in each request. */
export interface Device {
  readonly os: string
  /** Hash that identifies the machine. The raw machine id is never sent. */
  readonly machine: string
  /** UUID of the installation. */
  readonly install: string
}

const printable = /^[\x20-\x7e]+$/
const stringToken = /"(?:[^"\\]|\\.)*"/g

/** Returns the header's value. @throws TypeError if {@link parseDevice} would refuse it. */
export function encodeDevice({ os, machine, install }: Device): string {
  const text = JSON.stringify({ os, machine, install })
  if (parseDevice(text) === undefined) {
    throw new TypeError(
      'a device is three non-empty strings of printable ASCII, at most 300 characters as JSON',
    )
  }
  return text
}

/** Returns the device that a header names, or undefined if the text does not have this form. */
export function parseDevice(text: string): Device | undefined {
  if (!headerRules.device.test(text)) return undefined
  const value = parseObject(text)
  if (value === undefined || Object.keys(value).length !== 3) return undefined
  // JSON.parse keeps the last of two equal keys. Three members with string values are exactly six string tokens.
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
    // Text that is not JSON is refused like JSON of another shape.
    return undefined
  }
}
