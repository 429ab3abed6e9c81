/**
 * The log: structured lines on standard error, one per request, with what may be told and nothing else.
 *
 * A line names the route's template, never the target: targets hold cursors, headers hold tokens. Redaction is the
 * second fence, for what an error drags along.
 */
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify'
import type { Ending } from './http/outcomes.ts'
import { type LogStream, standardError } from './log-stream.ts'

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
 * The logger of a request. What names the request is added when it has something to say: bound to the logger it would be
 * searched for secrets beforehand, for each request.
 */
export const requestLogger = (log: FastifyBaseLogger, about: object): FastifyBaseLogger =>
  Object.assign(log.child({}), { about })

/**
 * `code` is both the name of an enrolment's secret and what an error calls its kind. It is told where it has the form of
 * such a kind: short, or words between underscores. Our secrets hold 22 characters and more of base64url; that one of
 * them looks like that is less likely than one in a thousand million.
 */
const isErrorKind = (value: unknown, path: readonly unknown[]): boolean =>
  path.at(-1) === 'code' &&
  typeof value === 'string' &&
  (/^[A-Z][A-Z0-9_]{1,17}$|^[a-z][a-z_]{1,17}$/.test(value) ||
    /^[A-Z]{1,14}(?:_[A-Z]{1,14}){2,7}$/.test(value))

/** pino's paths take a hyphenated name only in brackets. */
const quoted = (path: string): string => path.replace(/\.?([a-z_]+-[a-z_-]+)$/, '["$1"]')

/**
 * One line for each request: `answered`, or `cut` when the client left before. All that it can hold is named here, so it is
 * not searched for secrets, which takes fifteen times as long as writing it.
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
