/** A helper in this process with its own place, and requests to it. */

import { writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type HelperTuning, type RunningHelper, startHelper } from '../../helper/main.ts'
import type { TransferStatus } from '../../sdk/contract/helper/endpoints.ts'
import type { Manifest } from '../../sdk/contract/helper/manifest.ts'
import { exchange, type HelperAnswer, type HelperCall, request } from './calls.ts'
import { freshToken, type ManifestOptions, manifestOf, Place, partOf } from './files.ts'

export interface TestHelper {
  readonly place: Place
  readonly manifest: Manifest
  readonly bytes: Buffer
  readonly token: string
  readonly running: RunningHelper
  readonly port: number
  /** Sends a request with the token, unless the call has another one. */
  ask(call: HelperCall): Promise<HelperAnswer>
  put(index: number, body?: Buffer): Promise<HelperAnswer>
  /** Sends these parts, each of which the helper must accept. */
  putAll(...indices: number[]): Promise<void>
  finalize(): Promise<HelperAnswer>
  status(): Promise<TransferStatus>
  /** Starts another helper on the same place and manifest, once this one has ended. */
  again(options?: StartOptions): Promise<TestHelper>
  close(): Promise<void>
}

export interface StartOptions extends HelperTuning {
  readonly ttlSeconds?: number
}

/** In download mode the file is put into the root first. */
export async function startWith(bytes: Buffer, options: ManifestOptions & StartOptions): Promise<TestHelper> {
  const place = new Place()
  const manifest = manifestOf(bytes, options)
  if (options.mode === 'download') writeFileSync(place.inRoot(manifest.filename), bytes, { mode: 0o600 })
  return start(place, manifest, bytes, options)
}

export async function start(
  place: Place,
  manifest: Manifest,
  bytes: Buffer,
  { ttlSeconds = 600, ...tuning }: StartOptions = {},
): Promise<TestHelper> {
  const token = freshToken()
  const running = await startHelper(
    { manifest: place.manifest(manifest), root: place.root, port: 0, ttlSeconds, maxBytes: 2 ** 33, token },
    tuning,
  )
  const { port } = running.readiness
  const ask = (call: HelperCall) => exchange(port, request({ token, ...call }))
  const put = (index: number, body = partOf(bytes, manifest, index)) =>
    ask({ method: 'PUT', target: `/v1/parts/${index}`, body })
  return {
    place,
    manifest,
    bytes,
    token,
    running,
    port,
    ask,
    put,
    putAll: async (...indices) => {
      for (const index of indices) expect((await put(index)).status).toBe(200)
    },
    finalize: () => ask({ method: 'POST', target: '/v1/finalize', body: Buffer.alloc(0) }),
    status: async () => JSON.parse((await ask({ target: '/v1/status' })).body.toString()) as TransferStatus,
    again: async (more = {}) => {
      await running.stop()
      return start(place, manifest, bytes, more)
    },
    close: async () => {
      await running.stop()
      place.remove()
    },
  }
}
