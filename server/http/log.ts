/**
 * The log: structured lines on standard error, one per request.
 *
 * A line names the route's template and never the URL, because URLs hold cursors and headers hold tokens.
 * Redaction is the second safeguard, for fields that an error object brings along.
 */
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify'
import { type LogStream, standardError } from '../log-stream.ts'
import type { Ending } from './outcomes.ts'

const secretPaths = [
  'authorization',
  'cookie',
  'set-cookie',
  'token',
  'password',
  'secret',
  'code',
  'proof',
  'link_token',
]

export function loggerOptions(
  level: string,
  stream: LogStream = standardError(),
): NonNullable<FastifyServerOptions['logger']> {
  return {
    level,
    stream,
    redact: {
      paths: secretPaths.flatMap((name) => [name, `*.${name}`, `*.*.${name}`].map(quoted)),
      censor: (value, path) => (isErrorKind(value, path) ? value : '[redacted]'),
    },
    serializers: {
      req: (request) => ({ method: request.method, route: request.routeOptions?.url }),
      res: (reply) => ({ status: reply.statusCode }),
    },
    mixin: (_line, _level, log: object) => ({ ...(log as RequestLogger).about }),
  }
}

interface RequestLogger {
  readonly about?: object
}

/**
 * The logger of one request. The request's id and route are added only when a line is written. If they were
 * bound to the logger, pino would search them for secrets on each request.
 */
export const requestLogger = (log: FastifyBaseLogger, about: object): FastifyBaseLogger =>
  Object.assign(log.child({}), { about })

/**
 * Tells an error's `code`, which is logged, from an enrolment's `code`, which is a secret. An error code is
 * short, or consists of words joined by underscores. Our secrets hold at least 22 characters of base64url, so
 * one of them looks like an error code with a probability below one in 10^9.
 */
const isErrorKind = (value: unknown, path: readonly unknown[]): boolean =>
  path.at(-1) === 'code' &&
  typeof value === 'string' &&
  (/^[A-Z][A-Z0-9_]{1,17}$|^[a-z][a-z_]{1,17}$/.test(value) ||
    /^[A-Z]{1,14}(?:_[A-Z]{1,14}){2,7}$/.test(value))

/** pino requires brackets around path segments with a hyphen. */
const quoted = (path: string): string => path.replace(/\.?([a-z_]+-[a-z_-]+)$/, '["$1"]')

/**
 * Logs one line per request: `answered`, or `cut` if the client disconnected first. All its fields are listed
 * here, so the redaction is switched off: it takes fifteen times as long as writing the line.
 */
export function logEnding(log: FastifyBaseLogger): Ending {
  const lines = log.child({}, { redact: [] })
  return (request, reply, isWhole) => {
    const line = {
      request_id: request.id,
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: isWhole ? reply.statusCode : undefined,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      caller: request.caller?.kind,
    }
    lines.info(line, isWhole ? 'answered' : 'cut')
  }
}
