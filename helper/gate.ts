/**
 * Rules that refuse a request before its route is looked up, in order. Each rule has a name.
 *
 * The rules check the raw header list and the raw target. A parser may merge equal headers or normalize a
 * path, and would then check a different request.
 *
 * Spec §4.5, Rejected requests.
 */
import type { IncomingMessage } from 'node:http'
import type { HelperErrorCode } from '../sdk/contract/helper/errors.ts'
import { transferLimits } from '../sdk/contract/helper/limits.ts'

/** A request before any parsing of headers or path. */
export interface RawRequest {
  readonly version: string
  readonly method: string
  readonly target: string
  /** All headers in order, with names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

interface Rule {
  readonly name: string
  /** Sentence of the specification, or what follows from it. */
  readonly sentence: string
  readonly refuses: (request: RawRequest) => boolean
  readonly code: HelperErrorCode
}

const valuesOf = ({ headers }: RawRequest, name: string): string[] =>
  headers.filter(([header]) => header === name).map(([, value]) => value)

const has = (request: RawRequest, name: string): boolean => valuesOf(request, name).length > 0

/**
 * Headers for framing, authentication or content type. If one occurs twice, two parsers may see different
 * requests.
 */
const single = [
  'authorization',
  'content-length',
  'content-type',
  'content-encoding',
  'expect',
  'connection',
  'proxy-authorization',
]

export const gate: readonly Rule[] = [
  {
    name: 'header-count',
    sentence: 'the raw header list is judged whole: at most 32 headers',
    refuses: ({ headers }) => headers.length > transferLimits.headers,
    code: 'headers_too_large',
  },
  {
    name: 'version',
    sentence: 'The helper listens on 127.0.0.1 over plain HTTP only: HTTP/1.1',
    refuses: ({ version }) => version !== '1.1',
    code: 'bad_request',
  },
  {
    name: 'one-host',
    sentence: 'HTTP/1.1: a request has exactly one Host',
    refuses: (request) => valuesOf(request, 'host').length !== 1,
    code: 'bad_request',
  },
  {
    name: 'transfer-encoding',
    sentence: 'Rejected requests: Transfer-Encoding',
    refuses: (request) => has(request, 'transfer-encoding') || has(request, 'trailer'),
    code: 'encoding_refused',
  },
  {
    name: 'duplicates',
    sentence: 'Rejected requests: duplicate length or authentication fields',
    refuses: (request) => single.some((name) => valuesOf(request, name).length > 1),
    code: 'duplicate_header',
  },
  {
    name: 'length',
    sentence: 'Upload requests must send a known Content-Length with a fixed-length body',
    refuses: (request) =>
      valuesOf(request, 'content-length').some((value) => !/^(0|[1-9]\d{0,15})$/.test(value)),
    code: 'bad_request',
  },
  {
    name: 'target',
    sentence: 'Rejected requests: encoded paths, query strings, traversal',
    // `OPTIONS *` is well-formed, but matches no path.
    refuses: ({ target }) => target !== '*' && !isPlainPath(target),
    code: 'bad_target',
  },
  {
    name: 'browser',
    sentence: 'Requests from browsers (Origin, Sec-Fetch-*, Cookie) are refused',
    refuses: ({ headers }) =>
      headers.some(([name]) => name === 'origin' || name === 'cookie' || name.startsWith('sec-fetch-')),
    code: 'browser_request',
  },
  {
    name: 'range',
    sentence: 'Rejected requests: arbitrary Range headers',
    refuses: (request) => has(request, 'range') || has(request, 'content-range'),
    code: 'range_refused',
  },
  {
    name: 'content-encoding',
    sentence: 'raw bytes, exact Content-Length: no encoding but identity',
    refuses: (request) =>
      valuesOf(request, 'content-encoding').some((value) => value.toLowerCase() !== 'identity'),
    code: 'encoding_refused',
  },
  {
    name: 'upgrade',
    sentence: 'over plain HTTP only: the protocol of a connection does not change',
    refuses: (request) => has(request, 'upgrade') || has(request, 'http2-settings'),
    code: 'upgrade_refused',
  },
  {
    name: 'expectation',
    sentence: 'HTTP/1.1: an expectation that is not met is refused',
    refuses: (request) => valuesOf(request, 'expect').some((value) => value.toLowerCase() !== '100-continue'),
    code: 'expectation_refused',
  },
]

/**
 * Returns whether each segment has only plain characters and is not `.` or `..`, so that no parser changes
 * the path.
 */
const isPlainPath = (target: string): boolean =>
  /^(\/[A-Za-z0-9._~-]+)*\/?$/.test(target) &&
  target.startsWith('/') &&
  !target.split('/').some((segment) => /^\.+$/.test(segment))

/** Returns the code of the first rule that refuses the request. */
export const objection = (request: RawRequest): HelperErrorCode | undefined =>
  gate.find(({ refuses }) => refuses(request))?.code

export function rawRequest({ httpVersion, method, url, rawHeaders }: IncomingMessage): RawRequest {
  const headers: [string, string][] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.push([(rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? ''])
  }
  return { version: httpVersion, method: method ?? '', target: url ?? '', headers }
}

/** Returns the value of a header that the gate allows only once. */
export const headerOf = (request: RawRequest, name: string): string | undefined => valuesOf(request, name)[0]
