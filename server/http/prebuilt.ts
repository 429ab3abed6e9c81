/**
 * An answer that is the same for every caller. It is serialised and compressed once and then sent from
 * memory.
 *
 * Contract §2 "What anybody may read without credentials is built once".
 */
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface Prebuilt {
  readonly etag: string
  /** Bytes by content coding. `identity` is uncompressed. */
  readonly variants: Readonly<Record<'br' | 'gzip' | 'identity', Buffer>>
}

export function prebuild(value: unknown): Prebuilt {
  const identity = Buffer.from(JSON.stringify(value))
  const quality = { [constants.BROTLI_PARAM_QUALITY]: 5 }
  return {
    etag: `"${createHash('sha256').update(identity).digest('base64url')}"`,
    variants: { identity, gzip: gzipSync(identity), br: brotliCompressSync(identity, { params: quality }) },
  }
}

/** Returns whether the caller already has the answer with this ETag. */
export function isKnown({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): boolean {
  const known = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known?.some((tag) => tag === etag || tag === '*') === true
}

/** Sends the smallest variant that the caller accepts, or 304 if the caller already has it. */
export function sendPrebuilt(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Prebuilt,
  type = 'application/json; charset=utf-8',
): FastifyReply {
  reply.headers({ etag: answer.etag, vary: 'accept-encoding' })
  if (isKnown(request, answer.etag)) return reply.code(304).send()
  const coding = preferred(request.headers['accept-encoding'])
  if (coding !== 'identity') reply.header('content-encoding', coding)
  return reply.type(type).send(answer.variants[coding])
}

/** Returns the best coding that the caller accepts. Weight 0 excludes a coding. RFC 9110 §12.5.3. */
function preferred(accepted = ''): keyof Prebuilt['variants'] {
  const codings = new Set(
    accepted
      .toLowerCase()
      .split(',')
      .map((each) => each.split(';').map((piece) => piece.trim()))
      .filter(([, weight]) => !/^q=0(\.0*)?$/.test(weight ?? ''))
      .map(([name]) => name),
  )
  return (['br', 'gzip'] as const).find((name) => codings.has(name)) ?? 'identity'
}
