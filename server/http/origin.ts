/**
 * The Origin rule of every owner POST: exactly one header, equal byte for byte to the configured origin.
 *
 * It is asked before any cookie is looked at. `Sec-Fetch-Site`, where a browser sends it, must say same-origin.
 *
 * "Every POST requires an Origin header exactly matching the configured owner portal origin." Spec §5; contract §10.
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

/** A page of another site may not read owner answers either. @throws origin_mismatch */
export function refuseCrossSite(raw: IncomingMessage): void {
  if (raw.headers['sec-fetch-site'] === 'cross-site') throw new ApiError('origin_mismatch')
}
