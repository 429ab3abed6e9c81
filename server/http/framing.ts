/**
 * What every request must be before it is routed to anything, judged on the raw header list and the raw target.
 *
 * Node drops or joins repeated headers in `req.headers`, so repetition is only visible in `rawHeaders`.
 *
 * Contract §2 "framing"; design: one request on the wire is one request in the application.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../api-error.ts'

const maxHeaders = 64
/** No escapes, no empty or dot segments: the path that is signed is the path that is routed. */
const plainPath = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9_.~-]+)+$/
const single = ['host', 'content-length', 'content-type', 'transfer-encoding', 'cookie', 'expect']

/** Node's object has one key for each name, in small letters; so every header stands once where there are as many. */
const repeatsAny = ({ headers, rawHeaders }: IncomingMessage): boolean =>
  Object.keys(headers).length < rawHeaders.length / 2

/** Whether a header stands more than once, whatever its case. */
export const repeats = (raw: IncomingMessage, name: string): boolean =>
  repeatsAny(raw) &&
  raw.rawHeaders.filter((each, index) => index % 2 === 0 && each.toLowerCase() === name).length > 1

/** Before anything else, also for a path that nobody has. */
export function useFraming(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    checkFraming(request.raw)
    done()
  })
}

/** @throws not_found for a target that is not a plain path, invalid_request for the rest. */
export function checkFraming(raw: IncomingMessage): void {
  const [path = ''] = (raw.url ?? '').split('?', 1)
  if (!plainPath.test(path)) throw new ApiError('not_found')
  if (raw.httpVersion !== '1.1') throw badHeader('request line', 'HTTP/1.1 is required')
  if (raw.rawHeaders.length / 2 > maxHeaders)
    throw badHeader('headers', `at most ${maxHeaders} headers are accepted`)
  const repeated = repeatsAny(raw) ? single.find((name) => repeats(raw, name)) : undefined
  if (repeated !== undefined) throw badHeader(`header ${repeated}`, 'must stand once')
  if (raw.headers.host === undefined) throw badHeader('header host', 'is required')
  const { expect } = raw.headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw badHeader('header expect', 'must be 100-continue')
  const encoding = raw.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    throw badHeader('header content-encoding', 'must be identity')
}

/** Where no origin is asked for, a second one is a fault of form. @throws invalid_request */
export function refuseSecondOrigin(raw: IncomingMessage): void {
  if (repeats(raw, 'origin')) throw badHeader('header origin', 'must stand once')
}

/** Where the path is known to take a GET. @throws invalid_request */
export function refuseGetBody(raw: IncomingMessage): void {
  const { 'transfer-encoding': encoding, 'content-length': length = '0' } = raw.headers
  if (raw.method === 'GET' && (encoding !== undefined || Number(length) > 0))
    throw badHeader('body', 'a GET takes no body')
}

/** Where bytes move: "Rejected requests: arbitrary Range headers". Parts are the ranges there are. @throws invalid_request */
export function refuseRanges({ headers }: IncomingMessage): void {
  const range = ['range', 'content-range'].find((name) => headers[name] !== undefined)
  if (range !== undefined)
    throw badHeader(`header ${range}`, 'is refused; the parts are the ranges there are')
}

const badHeader = (path: string, problem: string) =>
  new ApiError('invalid_request', {
    message: `${path}: ${problem}`,
    details: { faults: [{ path, problem }] },
  })
