/**
 * Revisions of the Model Context Protocol that the server speaks.
 *
 * - Modern, 2026-07-28: stateless. Each request names its version and the client's capabilities in `_meta`.
 * - Legacy, 2025-11-25 and 2025-06-18: `initialize` negotiates the version once for the process.
 *
 * A request is modern if its `_meta` names a version or capabilities. One process may serve both.
 */
import { isObject, type Params, RpcError } from './json-rpc.ts'

export const modernVersion = '2026-07-28'
/** The newest first. */
export const legacyVersions = ['2025-11-25', '2025-06-18'] as const

const prefix = 'io.modelcontextprotocol/'
const versionKey = `${prefix}protocolVersion`
const capabilitiesKey = `${prefix}clientCapabilities`
export const serverInfoKey = `${prefix}serverInfo`
export const subscriptionKey = `${prefix}subscriptionId`

const metaOf = ({ _meta: meta }: Params): Params => (isObject(meta) ? meta : {})

export const isModern = (params: Params): boolean => {
  const meta = metaOf(params)
  return versionKey in meta || capabilitiesKey in meta
}

/** @throws RpcError if a required field of `_meta` is missing or wrong, or the version is not supported */
export function requireModern(params: Params): void {
  const { [versionKey]: requested, [capabilitiesKey]: capabilities } = metaOf(params)
  if (typeof requested !== 'string')
    throw new RpcError('invalidParams', `_meta["${versionKey}"] must be a string`)
  if (requested !== modernVersion) {
    throw new RpcError('unsupportedProtocolVersion', 'Unsupported protocol version', {
      data: { supported: [modernVersion], requested },
    })
  }
  if (!isObject(capabilities))
    throw new RpcError('invalidParams', `_meta["${capabilitiesKey}"] must be an object`)
}

/** Returns the version for the answer to `initialize`: the requested one, or else the newest legacy version. */
export function negotiated({ protocolVersion }: Params): string {
  if (typeof protocolVersion !== 'string')
    throw new RpcError('invalidParams', '"protocolVersion" must be a string')
  return legacyVersions.find((version) => version === protocolVersion) ?? legacyVersions[0]
}
