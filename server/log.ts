/**
 * The log: structured lines on standard error, one per request, with what may be told and nothing else.
 *
 * A line names the route's template, never the target: targets hold cursors, headers hold tokens. Redaction is the
 * second fence, for what an error drags along.
 */
import type { FastifyServerOptions } from 'fastify'
import type { Ending } from './http/endings.ts'

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

export interface LogStream {
  write(line: string): void
}

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
  }
}

/** A log that is full or gone does not stop the service: its lines are lost, and later ones are written again. */
function standardError(): LogStream {
  process.stderr.off('error', ignore)
  process.stderr.on('error', ignore)
  return process.stderr
}

const ignore = () => {}

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

/** One line for each request: `answered`, or `cut` when the client left before. Its logger adds `request_id`. */
export const logEnding: Ending = (request, reply, isWhole) => {
  const line = {
    method: request.method,
    route: request.routeOptions.url ?? 'none',
    ...(isWhole && { status: reply.statusCode }),
    ms: Math.round(reply.elapsedTime * 10) / 10,
    caller: request.caller?.kind,
  }
  request.log.info(line, isWhole ? 'answered' : 'cut')
}
