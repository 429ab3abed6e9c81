/**
 * The Origin rule of owner POST requests: exactly one Origin header, byte for byte equal to the configured
 * origin.
 *
 * It is checked before any cookie is read. If the browser sends `Sec-Fetch-Site`, it must be `same-origin`.
 *
 * "Every POST requires an Origin header exactly matching the configured owner portal origin." Spec §5;
 * contract §10.
 */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../api-error.ts'
import { repeats } from './framing.ts'

/** @throws origin_mismatch */
export function requireOrigin(raw: IncomingMessage, portalOrigin: string): void {
  const site = raw.headers['sec-fetch-site']
  const exact = raw.headers.origin === portalOrigin && !repeats(raw, 'origin')
  if (!exact || (site !== undefined && site !== 'same-origin')) throw new ApiError('origin_mismatch')
}

/** Prevents pages of other sites from reading owner answers. @throws origin_mismatch */
export function refuseCrossSite(raw: IncomingMessage): void {
  if (raw.headers['sec-fetch-site'] === 'cross-site') throw new ApiError('origin_mismatch')
}
