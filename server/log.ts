/**
 * The log: structured lines on standard error, one per request, with what may be told and nothing else.
 *
 * A line names the route's template, never the target: targets hold cursors, headers hold tokens. Redaction is the
 * second fence, for what an error drags along.
 */
import type { FastifyInstance, FastifyServerOptions } from 'fastify'

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

export function loggerOptions(level: string): NonNullable<FastifyServerOptions['logger']> {
  return {
    level,
    stream: process.stderr,
    redact: {
      paths: secretPaths.flatMap((name) => [name, `*.${name}`, `*.*.${name}`].map(quoted)),
      censor: '[redacted]',
    },
    serializers: {
      req: (request) => ({ method: request.method, route: request.routeOptions?.url }),
      res: (reply) => ({ status: reply.statusCode }),
    },
  }
}

/** pino's paths take a hyphenated name only in brackets. */
const quoted = (path: string): string => path.replace(/\.?([a-z_]+-[a-z_-]+)$/, '["$1"]')

export function useRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        caller: request.caller?.kind,
      },
      'answered',
    )
  })
}
