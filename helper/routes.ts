/**
 * Routes of the helper: status, file, parts, finalize.
 *
 * Order of checks after the gate: route (404), method (405), token (401), lifetime (410), mode (409), length,
 * `transfer_busy`, then the work itself.
 *
 * Spec §4.5, Routes.
 */
import type { IncomingMessage } from 'node:http'
import type { TransferStatus } from '../sdk/contract/helper/endpoints.ts'
import { transferLimits } from '../sdk/contract/helper/limits.ts'
import type { TransferMode } from '../sdk/contract/helper/manifest.ts'
import type { Range } from '../sdk/parts/blocks.ts'
import { PartError } from '../sdk/parts/part-error.ts'
import { headerOf, type RawRequest } from './gate.ts'
import type { Transfer } from './transfer.ts'

export type Answer = { readonly json: object } | { readonly bytes: Range; readonly sha256: string }

export interface Call {
  readonly transfer: Transfer
  /** Index of the part in the path. */
  readonly index: number
  readonly request: IncomingMessage
  readonly signal: AbortSignal
}

export interface Route {
  readonly method: 'GET' | 'PUT' | 'POST'
  /** Has one group if the path names a part. */
  readonly path: RegExp
  readonly mode: TransferMode | 'both'
  /** "one file operation at a time". */
  readonly isFileOperation: boolean
  readonly body: 'none' | 'part'
  readonly run: (call: Call) => Answer | Promise<Answer>
}

const part = /^\/v1\/parts\/(0|[1-9]\d{0,3})$/

export const routes: readonly Route[] = [
  {
    method: 'GET',
    path: /^\/v1\/status$/,
    mode: 'both',
    isFileOperation: false,
    body: 'none',
    run: ({ transfer }) => ({ json: transfer.status() satisfies TransferStatus }),
  },
  {
    method: 'GET',
    path: /^\/v1\/file$/,
    mode: 'download',
    isFileOperation: true,
    body: 'none',
    run: ({ transfer: { manifest } }) => ({
      bytes: { offset: 0, size: manifest.size },
      sha256: manifest.sha256,
    }),
  },
  {
    method: 'GET',
    path: part,
    mode: 'download',
    isFileOperation: true,
    body: 'none',
    run: ({ transfer, index }) => {
      const { offset, size, sha256 } = transfer.partOf(index)
      return { bytes: { offset, size }, sha256 }
    },
  },
  {
    method: 'PUT',
    path: part,
    mode: 'upload',
    isFileOperation: true,
    body: 'part',
    run: async ({ transfer, index, request, signal }) => ({
      json: await transfer.receive(index, request, signal),
    }),
  },
  {
    method: 'POST',
    path: /^\/v1\/finalize$/,
    mode: 'upload',
    isFileOperation: true,
    body: 'none',
    run: async ({ transfer, signal }) => ({ json: await transfer.finalize(signal) }),
  },
]

export interface Matched {
  readonly route: Route
  readonly index: number
}

/** Finds the route. @throws PartError `not_found`; `method_not_allowed` with the methods of the path. */
export function match({ method, target }: RawRequest): Matched {
  // `OPTIONS *` addresses the whole server, which supports no method itself.
  if (target === '*') throw new MethodRefusal(['GET', 'PUT', 'POST'])
  const atPath = routes.filter(({ path }) => path.test(target))
  if (atPath.length === 0) throw new PartError('not_found')
  const route = atPath.find((candidate) => candidate.method === method)
  if (route === undefined) throw new MethodRefusal(atPath.map((candidate) => candidate.method))
  return { route, index: Number(route.path.exec(target)?.[1] ?? 0) }
}

export class MethodRefusal extends PartError {
  readonly allow: string

  constructor(methods: readonly string[]) {
    super('method_not_allowed')
    this.allow = methods.join(', ')
  }
}

/** Checks mode, part and length of a request before its body is read. @throws PartError */
export function requireFitting({ route, index }: Matched, request: RawRequest, transfer: Transfer): void {
  if (route.mode !== 'both' && route.mode !== transfer.manifest.mode) throw new PartError('wrong_mode')
  if (route.path === part) transfer.partOf(index)
  const length = headerOf(request, 'content-length')
  if (route.body === 'none') {
    if (length !== undefined && length !== '0') throw new PartError('body_refused')
    return
  }
  // "Upload requests must send a known Content-Length with a fixed-length body."
  if (length === undefined) throw new PartError('length_required')
  if (Number(length) > transferLimits.partBytes) throw new PartError('part_too_large')
  if (Number(length) !== transfer.partOf(index).size) throw new PartError('length_mismatch')
}
