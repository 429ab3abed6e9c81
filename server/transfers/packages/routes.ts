import type { FastifyInstance, FastifyReply } from 'fastify'
import { contract } from '../../../sdk/contract/index.ts'
import { PartError } from '../../../sdk/parts/part-error.ts'
import { ApiError } from '../../api-error.ts'
import type { Context } from '../../context.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { partsOf } from '../../package-store/packages.ts'
import { receiving, route, stream } from '../../route.ts'
import { finalizePackage, findPart, packageStatus, uploadPart } from './actions.ts'
import { type Download, openDownload } from './download-actions.ts'

const { packages } = contract

export function packageRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, packages.status, ({ caller, params }) => packageStatus(context, caller, params.id))
  route(app, context, packages.finalize, ({ caller, params }) => finalizePackage(context, caller, params.id))
  receiving(app, context, packages.putPart, {
    hashOf: async (identity, { id, index }) => (await findPart(context, identity, id, index))?.sha256,
    handler: ({ caller, params, bytes }) =>
      uploadPart(context, caller, { id: params.id, index: Number(params.index) }, bytes),
  })
  stream(app, context, packages.getPart, async ({ caller, params, reply }) => {
    const download = openDownload(
      context,
      caller,
      params.id,
      (transfer) => partsOf(transfer)[Number(params.index)],
    )
    await send(reply, await download)
  })
  stream(app, context, packages.file, async ({ caller, params, reply }) => {
    const whole = ({ size, sha256 }: TransferRow) => ({ offset: 0, size, sha256 })
    await send(reply, await openDownload(context, caller, params.id, whole))
  })
}

/**
 * Errors that are expected during a download: the reader is too slow, the transfer ended, permission was
 * lost.
 */
const isExpected = (error: unknown): boolean =>
  error instanceof ApiError ||
  (error instanceof PartError && (error.code === 'too_slow' || error.code === 'expired'))

/**
 * Sends the exact bytes with their length and hash. If sending fails, the connection is closed without ending
 * the response, so the client sees fewer bytes than Content-Length.
 */
async function send(reply: FastifyReply, download: Download): Promise<void> {
  const { size, sha256 } = download.range
  reply.hijack()
  const response = reply.raw
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': size,
    'x-content-sha256': sha256,
  })
  // `close` follows every connection error and stops the sending.
  response.on('error', () => {})
  try {
    await download.send(response)
    response.end()
  } catch (error) {
    if (!isExpected(error)) reply.log.error({ err: error }, 'failed to send a package')
    response.destroy()
  } finally {
    await download.close()
  }
}
