/**
 * Checks on every request before routing, made on the raw header list and the raw target.
 *
 * `req.headers` drops or joins repeated headers, so repetition is visible only in `rawHeaders`.
 *
 * This prevents request smuggling. Contract §2 "framing".
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { health } from '../../sdk/contract/health.ts'
import { ApiError } from '../api-error.ts'

const maxHeaders = 64
/** No percent escapes, empty segments or dot segments, so the signed path is always the routed path. */
const plainPath = /^\/$|^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9_.~-]+)+$/
const single = ['host', 'content-length', 'content-type', 'transfer-encoding', 'cookie', 'expect']
/** Load balancers check these paths over HTTP/1.0, mostly without Host. Their answers depend on no header. */
const checkedByBalancers = new Set<string>([health.get.path, health.ready.path])

/**
 * Whether any header is repeated. `headers` has one lower-case key per name, so it then has fewer keys than
 * `rawHeaders` has pairs.
 */
const repeatsAny = ({ headers, rawHeaders }: IncomingMessage): boolean =>
  Object.keys(headers).length < rawHeaders.length / 2

/** Whether the header is sent more than once, in any letter case. */
export const repeats = (raw: IncomingMessage, name: string): boolean =>
  repeatsAny(raw) &&
  raw.rawHeaders.filter((each, index) => index % 2 === 0 && each.toLowerCase() === name).length > 1

/** Runs before all other checks, also for unknown paths. */
export function useFraming(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    checkFraming(request.raw)
    done()
  })
}

/** @throws not_found for a target that is not a plain path; invalid_request otherwise. */
export function checkFraming(raw: IncomingMessage): void {
  const [path = ''] = (raw.url ?? '').split('?', 1)
  if (!plainPath.test(path)) throw new ApiError('not_found')
  const isOldCheck = raw.httpVersion === '1.0' && checkedByBalancers.has(path)
  if (raw.httpVersion !== '1.1' && !isOldCheck) throw badHeader('request line', 'HTTP/1.1 is required')
  if (raw.rawHeaders.length / 2 > maxHeaders)
    throw badHeader('headers', `at most ${maxHeaders} headers are accepted`)
  const repeated = repeatsAny(raw) ? single.find((name) => repeats(raw, name)) : undefined
  if (repeated !== undefined) throw badHeader(`header ${repeated}`, 'must be sent only once')
  if (raw.headers.host === undefined && !isOldCheck) throw badHeader('header host', 'is required')
  const { expect } = raw.headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw badHeader('header expect', 'must be 100-continue')
  const encoding = raw.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    throw badHeader('header content-encoding', 'must be identity')
}

/** Refuses a repeated Origin header at endpoints that need no Origin. @throws invalid_request */
export function refuseSecondOrigin(raw: IncomingMessage): void {
  if (repeats(raw, 'origin')) throw badHeader('header origin', 'must be sent only once')
}

/** Refuses the body of a GET request to a known path. @throws invalid_request */
export function refuseGetBody(raw: IncomingMessage): void {
  const { 'transfer-encoding': encoding, 'content-length': length = '0' } = raw.headers
  if (raw.method === 'GET' && (encoding !== undefined || Number(length) > 0))
    throw badHeader('body', 'a GET request must not have a body')
}

/**
 * Refuses Range headers at endpoints that transfer bytes: "Rejected requests: arbitrary Range headers".
 * Clients read a file by its parts. @throws invalid_request
 */
export function refuseRanges({ headers }: IncomingMessage): void {
  const range = ['range', 'content-range'].find((name) => headers[name] !== undefined)
  if (range !== undefined)
    throw badHeader(`header ${range}`, 'is not supported; request single parts instead')
}

const badHeader = (path: string, problem: string) =>
  new ApiError('invalid_request', {
    message: `${path}: ${problem}`,
    details: { faults: [{ path, problem }] },
  })
