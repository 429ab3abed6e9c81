/** The client package for anybody who reaches the node. Contract §11. */
import type { FastifyInstance } from 'fastify'
import { contentHashHeader } from '../../sdk/contract/helper/endpoints.ts'
import { contract } from '../../sdk/contract/index.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { largeAnswer } from '../http/connection-bounds.ts'
import { isKnown } from '../http/prebuilt.ts'
import { route, type Taken, takingOver } from '../route.ts'

/** The name of the file changes with its content, so a cache may keep it. */
const immutable = { 'cache-control': 'public, max-age=31536000, immutable' }

export function clientRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, contract.client.get, async () => context.client.get().description)
  const { download } = contract.client
  const send = async ({ params, request, reply }: Taken<typeof download>) => {
    const { description, bytes } = context.client.get()
    if (params.file !== description.file) throw new ApiError('not_found')
    const etag = `"${description.sha256}"`
    reply.headers({ ...immutable, etag, [contentHashHeader]: description.sha256 })
    if (isKnown(request, etag)) await reply.code(304).send()
    else await reply.type('application/octet-stream').send(bytes)
  }
  takingOver(app, context, download, send, largeAnswer)
}
